// Keeps the list of the mailbox up to date while it is looked at, and clears the mailbox.

const LOOK_EVERY_MS = 3_000
/** How old the times of the list ("2 minutes ago") may become. */
const RELOAD_AFTER_MS = 60_000

const list = () => document.getElementById('messages')
let loadedAt = Date.now()

async function look() {
  if (document.hidden) return
  const answer = await fetch('mailbox/messages?limit=1')
  if (!answer.ok) return
  const { data } = await answer.json()
  if ((data[0]?.id ?? '') !== list().dataset.newest || Date.now() - loadedAt > RELOAD_AFTER_MS) await reload()
}

/** Takes the list out of the page as it is by now, and leaves everything else as it stands. */
async function reload() {
  let answer = await fetch(location.href)
  // The message that is open is gone: there is still the list.
  if (answer.status === 404) {
    const search = new URLSearchParams(location.search).get('search') ?? ''
    answer = await fetch(`mailbox?${new URLSearchParams({ search })}`)
  }
  if (!answer.ok) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const focused = list().contains(document.activeElement) ? document.activeElement.id : ''
  const top = list().scrollTop
  list().replaceWith(page.getElementById('messages'))
  list().scrollTop = top
  document.getElementById(focused)?.focus()
  loadedAt = Date.now()
}

const goOnLooking = () =>
  look()
    .catch(() => {}) // The service is away for a moment.
    .then(() => setTimeout(goOnLooking, LOOK_EVERY_MS))

const dialog = document.getElementById('clearing')
document.getElementById('clear').addEventListener('click', () => dialog.showModal())
dialog.addEventListener('close', async () => {
  if (dialog.returnValue !== 'clear') return
  await fetch('mailbox/messages', { method: 'DELETE' })
  location.assign('mailbox')
})

void goOnLooking()
