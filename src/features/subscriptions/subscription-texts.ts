import type { Language } from '../../lib/text/languages.ts'

/** The text of a page with nothing to change: a heading, and advice. */
export type Notice = { heading: string; advice: string }

/** Senders and readers are given as markup, dates as the language writes them out. */
type StateTexts = {
  title: string
  heading: string
  statement: (sender: string, reader: string) => string
  since: (date: string) => string
  note: string
  /** The text on the button that changes the state. */
  button: string
}

export type SubscriptionTexts = {
  subscribed: StateTexts
  unsubscribed: StateTexts
  deadLink: Notice
  tooOften: Notice
  trouble: Notice
  /** A reader can quote this to whoever runs the service. */
  reference: (status: number, requestId: string) => string
  /** The footer stands below a message. Its sender is given as markup. */
  footer: { reason: (sender: string) => string; unsubscribe: string; manage: string }
}

/**
 * Recipients of mail read these texts of the service itself. People are addressed formally; Portuguese takes words
 * that are used in Portugal and in Brazil.
 */
export const SUBSCRIPTION_TEXTS: Readonly<Record<Language, SubscriptionTexts>> = {
  en: {
    subscribed: {
      title: 'Subscribed',
      heading: 'You are subscribed',
      statement: (sender, reader) =>
        `${sender} may send emails to ${reader}, such as the one that this link was in.`,
      since: (date) => `Subscribed since ${date}.`,
      note: 'Messages about something that you have asked for, such as a receipt or a new password, do not depend on this.',
      button: 'Unsubscribe',
    },
    unsubscribed: {
      title: 'Unsubscribed',
      heading: 'You are unsubscribed',
      statement: (sender, reader) => `${sender} sends no more such emails to ${reader}.`,
      since: (date) => `Unsubscribed since ${date}.`,
      note: 'Was this a mistake? You can take it back here.',
      button: 'Subscribe again',
    },
    deadLink: {
      heading: 'This link does not work.',
      advice:
        'A part of it may be missing, or the address that the email went to is not known here any more. Open the link from the email again, or copy the whole of it. If that does not help, answer the email and ask its sender.',
    },
    tooOften: { heading: 'There were too many requests.', advice: 'Please try again in a minute.' },
    trouble: {
      heading: 'This is not possible at the moment.',
      advice: 'Please try again in a few minutes.',
    },
    reference: (status, requestId) => `Error ${status} · request ${requestId}`,
    footer: {
      reason: (sender) => `You receive this email from ${sender} because you have subscribed.`,
      unsubscribe: 'Unsubscribe',
      manage: 'Manage your preferences',
    },
  },
  de: {
    subscribed: {
      title: 'Angemeldet',
      heading: 'Sie sind angemeldet',
      statement: (sender, reader) =>
        `${sender} darf E-Mails wie die, in der dieser Link stand, an ${reader} senden.`,
      since: (date) => `Angemeldet seit dem ${date}.`,
      note: 'Nachrichten zu etwas, das Sie selbst veranlasst haben, etwa eine Quittung oder ein neues Passwort, sind davon nicht betroffen.',
      button: 'Abmelden',
    },
    unsubscribed: {
      title: 'Abgemeldet',
      heading: 'Sie sind abgemeldet',
      statement: (sender, reader) => `${sender} sendet keine solchen E-Mails mehr an ${reader}.`,
      since: (date) => `Abgemeldet seit dem ${date}.`,
      note: 'War das ein Versehen? Hier können Sie es rückgängig machen.',
      button: 'Wieder anmelden',
    },
    deadLink: {
      heading: 'Dieser Link funktioniert nicht.',
      advice:
        'Möglicherweise fehlt ein Teil davon, oder die Adresse, an die die E-Mail ging, ist hier nicht mehr bekannt. Öffnen Sie den Link in der E-Mail noch einmal, oder kopieren Sie ihn vollständig. Hilft das nicht, antworten Sie auf die E-Mail und fragen Sie den Absender.',
    },
    tooOften: {
      heading: 'Es gab zu viele Anfragen.',
      advice: 'Bitte versuchen Sie es in einer Minute noch einmal.',
    },
    trouble: {
      heading: 'Das ist im Moment nicht möglich.',
      advice: 'Bitte versuchen Sie es in einigen Minuten noch einmal.',
    },
    reference: (status, requestId) => `Fehler ${status} · Anfrage ${requestId}`,
    footer: {
      reason: (sender) => `Sie erhalten diese E-Mail von ${sender}, weil Sie sich angemeldet haben.`,
      unsubscribe: 'Abmelden',
      manage: 'Einstellungen verwalten',
    },
  },
  fr: {
    subscribed: {
      title: 'Abonnement actif',
      heading: 'Votre abonnement est actif',
      statement: (sender, reader) =>
        `${sender} peut envoyer à ${reader} des e-mails comme celui qui contenait ce lien.`,
      since: (date) => `Abonnement actif depuis le ${date}.`,
      note: 'Les messages liés à une demande de votre part, comme un reçu ou un nouveau mot de passe, ne sont pas concernés.',
      button: 'Se désabonner',
    },
    unsubscribed: {
      title: 'Désabonnement',
      heading: 'Votre désabonnement est pris en compte',
      statement: (sender, reader) => `${sender} n’enverra plus d’e-mails de ce type à ${reader}.`,
      since: (date) => `Désabonnement pris en compte le ${date}.`,
      note: 'Était-ce une erreur\u00a0? Vous pouvez revenir sur votre choix ici.',
      button: 'Se réabonner',
    },
    deadLink: {
      heading: 'Ce lien ne fonctionne pas.',
      advice:
        'Il est peut-être incomplet, ou l’adresse à laquelle l’e-mail a été envoyé n’est plus connue ici. Ouvrez de nouveau le lien depuis l’e-mail, ou copiez-le en entier. Si cela ne suffit pas, répondez à l’e-mail pour contacter son expéditeur.',
    },
    tooOften: {
      heading: 'Il y a eu trop de demandes.',
      advice: 'Veuillez réessayer dans une minute.',
    },
    trouble: {
      heading: 'Cette opération est impossible pour le moment.',
      advice: 'Veuillez réessayer dans quelques minutes.',
    },
    reference: (status, requestId) => `Erreur ${status} · demande ${requestId}`,
    footer: {
      reason: (sender) => `Cet e-mail vous est envoyé par ${sender} à la suite de votre inscription.`,
      unsubscribe: 'Se désabonner',
      manage: 'Gérer vos préférences',
    },
  },
  es: {
    subscribed: {
      title: 'Suscripción activa',
      heading: 'Su suscripción está activa',
      statement: (sender, reader) =>
        `${sender} puede enviar a ${reader} correos como el que contenía este enlace.`,
      since: (date) => `Suscripción activa desde el ${date}.`,
      note: 'Esto no afecta a los mensajes sobre algo que usted haya solicitado, como un recibo o una contraseña nueva.',
      button: 'Cancelar la suscripción',
    },
    unsubscribed: {
      title: 'Suscripción cancelada',
      heading: 'Su suscripción está cancelada',
      statement: (sender, reader) => `${sender} ya no enviará correos de este tipo a ${reader}.`,
      since: (date) => `Suscripción cancelada el ${date}.`,
      note: '¿Ha sido un error? Aquí puede deshacerlo.',
      button: 'Suscribirse de nuevo',
    },
    deadLink: {
      heading: 'Este enlace no funciona.',
      advice:
        'Es posible que falte una parte, o que la dirección a la que se envió el correo ya no conste aquí. Abra de nuevo el enlace desde el correo, o cópielo entero. Si no da resultado, responda al correo y consulte al remitente.',
    },
    tooOften: {
      heading: 'Ha habido demasiadas solicitudes.',
      advice: 'Vuelva a intentarlo dentro de un minuto.',
    },
    trouble: {
      heading: 'Esto no es posible en este momento.',
      advice: 'Vuelva a intentarlo dentro de unos minutos.',
    },
    reference: (status, requestId) => `Error ${status} · solicitud ${requestId}`,
    footer: {
      reason: (sender) => `Usted recibe este correo de ${sender} porque se ha suscrito.`,
      unsubscribe: 'Cancelar la suscripción',
      manage: 'Gestionar sus preferencias',
    },
  },
  nl: {
    subscribed: {
      title: 'Aangemeld',
      heading: 'U bent aangemeld',
      statement: (sender, reader) =>
        `${sender} mag e-mails naar ${reader} sturen, zoals de e-mail waarin deze link stond.`,
      since: (date) => `Aangemeld sinds ${date}.`,
      note: 'Berichten over iets wat u zelf hebt aangevraagd, zoals een ontvangstbewijs of een nieuw wachtwoord, vallen hier niet onder.',
      button: 'Afmelden',
    },
    unsubscribed: {
      title: 'Afgemeld',
      heading: 'U bent afgemeld',
      statement: (sender, reader) => `${sender} stuurt zulke e-mails niet meer naar ${reader}.`,
      since: (date) => `Afgemeld sinds ${date}.`,
      note: 'Was dit een vergissing? Hier kunt u het ongedaan maken.',
      button: 'Opnieuw aanmelden',
    },
    deadLink: {
      heading: 'Deze link werkt niet.',
      advice:
        'Misschien ontbreekt er een deel, of is het adres waarnaar de e-mail is gestuurd hier niet meer bekend. Open de link opnieuw vanuit de e-mail, of kopieer hem in zijn geheel. Helpt dat niet, beantwoord dan de e-mail en vraag het de afzender.',
    },
    tooOften: {
      heading: 'Er waren te veel verzoeken.',
      advice: 'Probeer het over een minuut opnieuw.',
    },
    trouble: {
      heading: 'Dit is op dit moment niet mogelijk.',
      advice: 'Probeer het over enkele minuten opnieuw.',
    },
    reference: (status, requestId) => `Fout ${status} · verzoek ${requestId}`,
    footer: {
      reason: (sender) => `U ontvangt deze e-mail van ${sender} omdat u zich hebt aangemeld.`,
      unsubscribe: 'Afmelden',
      manage: 'Voorkeuren beheren',
    },
  },
  pt: {
    subscribed: {
      title: 'Inscrição ativa',
      heading: 'A sua inscrição está ativa',
      statement: (sender, reader) =>
        `${sender} pode enviar para ${reader} e-mails como aquele que continha este link.`,
      since: (date) => `Inscrição ativa desde ${date}.`,
      note: 'Isto não afeta as mensagens sobre algo que tenha solicitado, como um recibo ou uma confirmação.',
      button: 'Cancelar a inscrição',
    },
    unsubscribed: {
      title: 'Inscrição cancelada',
      heading: 'A sua inscrição está cancelada',
      statement: (sender, reader) => `${sender} não enviará mais e-mails deste tipo para ${reader}.`,
      since: (date) => `Inscrição cancelada em ${date}.`,
      note: 'Foi um engano? Pode desfazer aqui a alteração.',
      button: 'Inscrever-se novamente',
    },
    deadLink: {
      heading: 'Este link não funciona.',
      advice:
        'Talvez falte uma parte dele, ou o endereço para o qual o e-mail foi enviado já não seja conhecido aqui. Abra novamente o link a partir do e-mail, ou copie-o por inteiro. Se isso não resolver, responda ao e-mail e consulte o remetente.',
    },
    tooOften: {
      heading: 'Houve demasiados pedidos.',
      advice: 'Tente novamente dentro de um minuto.',
    },
    trouble: {
      heading: 'Isto não é possível neste momento.',
      advice: 'Tente novamente dentro de alguns minutos.',
    },
    reference: (status, requestId) => `Erro ${status} · pedido ${requestId}`,
    footer: {
      reason: (sender) => `Recebe este e-mail de ${sender} porque se inscreveu.`,
      unsubscribe: 'Cancelar a inscrição',
      manage: 'Alterar as suas preferências',
    },
  },
}
