/** As the service's other pages look: the system's font, dark on light or light on dark. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1c1c1e; --quiet: #6c6c70; --line: #d8d8dc; --field: #f4f4f6; --page: #fff; --green: #1a7f37; --blue: #0969da; --amber: #9a6700; --red: #b3261e }
@media (prefers-color-scheme: dark) { :root { --text: #f2f2f7; --quiet: #98989f; --line: #3a3a3c; --field: #2c2c2e; --page: #1c1c1e; --green: #3fb950; --blue: #58a6ff; --amber: #d29922; --red: #ff7b72 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; color: var(--text); background: var(--page); display: grid; grid-template-columns: 20rem minmax(0, 1fr) }
a { color: inherit }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; box-sizing: border-box; padding: 1rem; border-right: 1px solid var(--line); font-size: 13px }
nav h2 { font-size: 13px; color: var(--quiet); margin: 1rem 0 .25rem }
nav ul { list-style: none; margin: 0; padding: 0 }
nav a { display: block; padding: .1rem 0; text-decoration: none; overflow-wrap: anywhere }
nav a:hover, nav a:focus-visible { text-decoration: underline }
main { padding: 1rem 2rem 6rem; max-width: 60rem }
article { border-top: 1px solid var(--line); padding: 1rem 0; scroll-margin-top: 1rem }
h3 { margin: .5rem 0; font-size: 17px }
h4 { margin: 1.25rem 0 .25rem }
small, .rules { color: var(--quiet) }
code, pre { font: 13px/1.5 ui-monospace, monospace }
pre { background: var(--field); padding: .75rem 1rem; border-radius: 8px; overflow: auto }
table { border-collapse: collapse; width: 100% }
td { border-top: 1px solid var(--line); padding: .4rem .75rem .4rem 0; vertical-align: top }
th { text-align: left; font-weight: normal; color: var(--quiet); font-size: 13px; padding-right: .75rem }
td:first-child:nth-last-child(3) { width: 28%; overflow-wrap: anywhere }
td:nth-child(2):nth-last-child(2) { width: 24% }
td p, td ul, div p { margin: 0 }
td ul { padding-left: 1rem }
div p { display: inline }
td em { color: var(--red); font-style: normal; font-size: 12px }
details { margin: .25rem 0 }
summary { cursor: pointer }
.get { color: var(--green) } .post { color: var(--blue) } .put, .patch { color: var(--amber) } .delete { color: var(--red) }
@media (max-width: 800px) { body { display: block } nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line) } main { padding: 1rem } }
`
