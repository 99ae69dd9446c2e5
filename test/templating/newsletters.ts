/** A body of a message, and where its links lead that are to be tracked, in the order in which they first come. */
export type Newsletter = { name: string; html: string; links: string[] }

export const API_URL = 'https://mail.sender.example'

type Link = { href: string; target: string }

const plain = (target: string): Link => ({ href: target.replaceAll('&', '&amp;'), target })
const at = (path: string): Link => plain(`https://shop.example/${path}`)

/** A document whose links are known. */
function newsletter(name: string, make: (link: (given: Link) => string) => string): Newsletter {
  const links: string[] = []
  const html = make(({ href, target }) => {
    if (!links.includes(target)) links.push(target)
    return href
  })
  return { name, html, links }
}

const page = (head: string, body: string) => `<!doctype html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office">
<head>
<title>News & more</title>
<!--[if mso]><noscript><xml><o:OfficeDocumentSettings><o:AllowPNG/></o:OfficeDocumentSettings></xml></noscript><![endif]-->
<style type="text/css">#outlook a { padding:0; } @media only screen and (min-width:480px) { .col { width:50% !important } } a[href^="https://"]{color:red}</style>
${head}</head>
<body style="word-spacing:normal;background-color:#f4f4f4;">
${body}
</body>
</html>`

/** A section as MJML makes it. */
const section = (
  inside: string,
) => `<!--[if mso | IE]><table align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="width:600px;" width="600" ><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]-->
<div style="margin:0px auto;max-width:600px;"><table align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="width:100%;"><tbody><tr><td style="direction:ltr;font-size:0px;padding:20px 0;text-align:center;">
${inside}
</td></tr></tbody></table></div>
<!--[if mso | IE]></td></tr></table><![endif]-->`

const button = (href: string, text: string) =>
  `<table border="0" cellpadding="0" cellspacing="0" role="presentation" style="border-collapse:separate;line-height:100%;"><tr><td align="center" bgcolor="#0b5" role="presentation" style="border:none;border-radius:3px;" valign="middle"><a href="${href}" style="display:inline-block;background:#0b5;color:#ffffff;padding:10px 25px" target="_blank"> ${text} </a></td></tr></table>`

const columns = (count: number, cell: (index: number) => string) =>
  `<table width="100%"><tr>${Array.from({ length: count }, (_, index) => `<td class="col" valign="top" width="${Math.floor(100 / count)}%">${cell(index)}</td>`).join('')}</tr></table>`

const product = (href: string, name: string) =>
  `<a href="${href}"><img alt="${name}" height="auto" src="https://cdn.example/${encodeURIComponent(name)}.png?w=280&amp;h=280" style="border:0;display:block" width="280" /></a><p style="margin:0">${name} &mdash; &euro;&nbsp;9,99</p>`

const mjml = (name: string, sections: number, perSection: number) =>
  newsletter(name, (link) =>
    page(
      '',
      Array.from({ length: sections }, (_, row) =>
        section(
          columns(perSection, (column) =>
            product(
              link(at(`${name}/${row}/${column}?utm_source=news&utm_medium=email&n=${row}`)),
              `Item ${row}.${column}`,
            ),
          ) + button(link(at(`${name}/all?row=${row}`)), 'See all'),
        ),
      ).join('\n'),
    ),
  )

/** Built from the parts of which most newsletters are made. */
const built: Newsletter[] = [
  mjml('one-column', 3, 1),
  mjml('two-columns', 4, 2),
  mjml('three-columns', 6, 3),
  mjml('catalogue', 12, 4),
  newsletter('receipt', (link) =>
    page(
      '',
      section(
        `<h1>Thanks, {{name ?? friend}}!</h1><table>{{#items}}<tr><td>{{title}}</td><td>{{price}}</td></tr>{{/items}}</table>${button(link(at('orders?from=receipt')), 'Your orders')}<p>Questions? <a href="mailto:help@shop.example?subject=Order%20{{order}}">Write</a> or call <a href="tel:+4930123456">+49 30 123456</a>.</p>`,
      ),
    ),
  ),
  newsletter('digest', (link) =>
    page(
      '',
      Array.from(
        { length: 30 },
        (_, index) =>
          `<h2><a href='${link(at(`post/${index}`))}'>Post ${index}</a></h2><p>Text &amp; more&hellip; <a class="more" href='${link(at(`post/${index}#comments`))}'>${index} comments</a></p><hr>`,
      ).join('\n'),
    ),
  ),
  newsletter('password reset', () =>
    page(
      '',
      section(`${button('{{resetUrl}}', 'Reset')}<p>Or paste <a href="{{resetUrl}}">{{resetUrl}}</a></p>`),
    ),
  ),
  newsletter('footer of a marketing mail', (link) =>
    page(
      '',
      section(
        `<p><a href="${link(at('imprint'))}">Imprint</a> · <a href="{{unsubscribeUrl}}">Unsubscribe</a> · <a href="{{{manageUrl}}}">Preferences</a> · <a href="${API_URL}/unsubscribe/abc">Off</a></p>`,
      ),
    ),
  ),
  newsletter('200 KB', (link) =>
    page(
      '',
      Array.from({ length: 160 }, (_, index) =>
        section(product(link(at(`big/${index}?a=1&b=2`)), `Thing ${index}`)),
      ).join('\n'),
    ),
  ),
  newsletter('200 KB of data', (link) =>
    page(
      '',
      `<img src="data:image/png;base64,${'iVBORw0KGgo'.repeat(19_000)}"><a href="${link(at('data'))}">x</a>`,
    ),
  ),
]

const fragment = (name: string, html: string, ...links: string[]): Newsletter => ({ name, html, links })

const A = 'https://a.example/'
const B = 'https://b.example/'

/** Written by hand: what people, editors and mail programs have been seen to make of HTML. */
const nasty: Newsletter[] = [
  fragment('no markup', 'Hello, see https://a.example/ or <a'),
  fragment('a fragment', `Hi <a href="${A}">there</a>`, A),
  fragment(
    'uppercase',
    `<TABLE><TR><TD><A CLASS=x HREF="HTTPS://A.example/X" TARGET=_blank>X</A></TD></TR></TABLE>`,
    'HTTPS://A.example/X',
  ),
  fragment(
    'odd quoting',
    `<a href=${A}>1</a><a href = '${B}'>2</a><a\n\thref\n=\n"${A}x"\n>3</a><a href=${A}y/>4</a>`,
    A,
    B,
    `${A}x`,
    `${A}y/`,
  ),
  fragment('an attribute without blanks', `<a class="x"href="${A}"title='y'>1</a>`, A),
  fragment(
    'quotes within quotes',
    `<a title="it's > &quot;here&quot;" href='https://a.example/?q="x"'>1</a>`,
    'https://a.example/?q="x"',
  ),
  fragment(
    'an apostrophe in an address',
    `<a href="https://a.example/it's?n='1'">1</a>`,
    "https://a.example/it's?n='1'",
  ),
  fragment(
    'entities',
    `<a href="https://a.example/?a=1&amp;b=2&#38;c=3&#x26;d=4&lt;&eacute;">1</a>`,
    'https://a.example/?a=1&b=2&c=3&d=4<é',
  ),
  fragment(
    'ampersands as they come',
    `<a href="https://a.example/?a=1&b=2&amp=3&section=4&reg">1</a>`,
    'https://a.example/?a=1&b=2&amp=3&section=4®',
  ),
  fragment(
    'other letters',
    `<a href="https://münchen.example/straße?q=日本&amp;e=🎉#ä">1</a>`,
    'https://münchen.example/straße?q=日本&e=🎉#ä',
  ),
  fragment('blanks around', `<a href="  ${A}\n ">1</a><a href="https://b.exam\nple/">2</a>`, A, B),
  fragment(
    'the same link again',
    `<a href="${A}">1</a><a href="${A}">2</a><a href="${B}">3</a><a href="${A}">4</a>`,
    A,
    B,
  ),
  fragment('href twice', `<a href="${A}" HREF="${B}">1</a><a href href="${B}">2</a>`, A),
  fragment(
    'empty links',
    `<a href="">1</a><a href>2</a><a href=>3</a><a>4</a><a href="#">5</a><a href="#top">6</a>`,
  ),
  fragment(
    'what is no web link',
    `<a href="mailto:a@b.example">1</a><a href="tel:+1">2</a><a href="sms:+1?body=x">3</a><a href="javascript:alert(1)">4</a><a href="data:text/html,x">5</a><a href="cid:img">6</a><a href="ftp://a.example/">7</a><a href="//a.example/">8</a><a href="/path">9</a><a href="https:a.example">10</a><a href="https://">11</a><a href="https://a b.example/">12</a><a href="whatsapp://send?text=https://a.example/">13</a>`,
  ),
  fragment(
    'an image map',
    `<img usemap="#m" src="https://cdn.example/m.png"><map name="m"><area shape="rect" coords="0,0,9,9" href="${A}" alt=""><AREA HREF='${B}'></map>`,
    A,
    B,
  ),
  fragment(
    'other elements with href',
    `<base href="https://a.example/"><link rel="stylesheet" href="https://a.example/x.css"><abbr href="https://a.example/">1</abbr><svg><image href="https://a.example/"/></svg>`,
  ),
  fragment(
    'marked links',
    `<a data-track="false" href="${A}">1</a><a href="${A}" DATA-TRACK=' FALSE '>2</a><a href="${B}" data-track="true">3</a>`,
    B,
  ),
  fragment(
    'conditional comments',
    `<!--[if mso]><a href="${A}">1</a><![endif]--><!--[if !mso]><!--><a href="${B}">2</a><!--<![endif]--><![if !vml]><a href="${A}x">3</a><![endif]>`,
    B,
    `${A}x`,
  ),
  fragment(
    'comments that end early',
    `<!--><a href="${A}">1</a><!-- --><a href="${B}">2</a><!---><a href="${A}z">3</a>`,
    A,
    B,
    `${A}z`,
  ),
  fragment('a comment without an end', `<a href="${A}">1</a><!-- <a href="${B}">2</a>`, A),
  fragment(
    'markup that is text',
    `<title><a href="${A}">1</a></title><textarea><a href="${A}">2</a></textarea><script>'<a href="${A}">3</a>'</script><style>a:after{content:'<a href="${A}">'}</style><xmp><a href="${A}">4</a></xmp><iframe><a href="${A}">5</a></iframe><noembed><a href="${A}">6</a></noembed><a href="${B}">7</a>`,
    B,
  ),
  fragment(
    'an attribute with markup in it',
    `<p title='<a href="${A}">'><img alt="<a href='${A}'>"><a href="${B}" title="<a href='${A}'>">1</a></p>`,
    B,
  ),
  fragment(
    'VML buttons',
    `<!--[if mso]><v:roundrect href="${A}" style="height:40px"><center>Go</center></v:roundrect><![endif]--><v:rect href="${A}"></v:rect><a href="${B}">Go</a>`,
    B,
  ),
  fragment(
    'bad nesting',
    `<table><a href="${A}"><tr><td><a href="${B}">1<b>2</a>3</b></td></tr></a></table></p></div><a href="${A}x">4`,
    A,
    B,
    `${A}x`,
  ),
  fragment('a tag that does not end', `<a href="${A}">1</a><a href="${B}"`, A),
  fragment('a quotation mark that does not end', `<a href="${A}">1</a><a href="${B}>2</a>`, A),
  fragment(
    'signs that are no tags',
    `1 < 2 <3 <-- </> <a/href="${A}">1</a> a<b <a href="${B}">2</a> <?php echo '<a href="${A}x">' ?>`,
    A,
  ),
  fragment(
    'tags of templates within tags',
    `<a {{#bold}}style="font-weight:bold"{{/bold}} href="${A}">1</a><a {{#x}}href="${B}"{{/x}}>2</a><a href="${B}"{{#x}} title="{{y}}"{{/x}}>3</a>`,
    A,
    B,
  ),
  fragment(
    'tags of templates within addresses',
    `<a href="https://a.example/{{id}}">1</a><a href="{{base}}/x">2</a><a href="https://{{{host}}}/">3</a><a href={{url}}>4</a><a href="{{#a}}${A}{{/a}}">5</a><a href='${B}'>{{title}}</a>`,
    B,
  ),
  fragment(
    'links within tags of templates',
    `{{name ?? <a href="${A}">you</a>}}{{! <a href="${A}"> }}<a href="${B}">1</a>{{{x ?? }}}`,
    B,
  ),
  fragment(
    'braces that are no tags',
    `<style>a{color:red}b{c:d}}</style><a href="https://a.example/{x}/}}/{y}">1</a>`,
    'https://a.example/{x}/}}/{y}',
  ),
  fragment(
    'loops',
    `{{#items}}<li><a href="${A}">{{.}}</a></li>{{/items}}{{^items}}<a href="${B}">none</a>{{/items}}`,
    A,
    B,
  ),
  fragment(
    'a tag alone on its line',
    `{{#a}}\n<a href="${A}">1</a>\n{{/a}}\n<a\nhref="\n${B}\n">2</a>\n`,
    A,
    B,
  ),
  fragment('other delimiters', `{{=<% %>=}}<a href="${A}"><% name %></a>`),
  fragment('line ends of Windows', `<a\r\n  href="${A}"\r\n>1</a>\r\n<a href='${B}'>2</a>\r\n`, A, B),
  fragment(
    'a link that is too long',
    `<a href="https://a.example/${'x'.repeat(3_000)}">1</a><a href="${B}">2</a>`,
    B,
  ),
  fragment(
    'user names and ports',
    `<a href="https://u:p@a.example:8443/?x#y">1</a><a href="http://[::1]:80/">2</a>`,
    'https://u:p@a.example:8443/?x#y',
    'http://[::1]:80/',
  ),
  fragment(
    'invisible signs',
    `<a href="https://a.example/\u200b\u00a0x">1</a>\u0000<a href="${B}">2</a>`,
    'https://a.example/\u200b\u00a0x',
    B,
  ),
]

export const NEWSLETTERS: Newsletter[] = [...built, ...nasty]
