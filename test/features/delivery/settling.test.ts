import * as assert from 'uvu/assert'
import { type SendingService, sendMail, startSending } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, until } from '../../support/service.ts'
import { newCampaign, newContacts, sendNow } from '../campaigns/campaign-support.ts'

const MESSAGES = 10
/** A project may not have all of them. */
const CONNECTIONS = 2 * MESSAGES
/** Replies that come at once may be read apart from each other on a machine that is busy. */
const ROUNDS = 10

/** In how many commits the outcomes of ten messages are written that the SMTP server takes at the same moment. */
async function commitsOf(
  service: SendingService,
  sendTen: (project: Project) => Promise<unknown>,
): Promise<number> {
  const { sink } = service
  const project = await service.newProject()
  const release = sink.hold()
  await sendTen(project)
  await until('ten wait for their replies', async () => sink.underWay.size === MESSAGES)
  release()
  return until('all are sent', async () => {
    const [row] = await service.sql<{ sent: number; commits: number }>(
      `select count(*)::int as sent, count(distinct xmin::text)::int as commits from events
       where project_id = $1 and name = 'email.sent'`,
      [project.id],
    )
    return row?.sent === MESSAGES && row.commits
  })
}

scenario(
  'Outcomes that come at the same moment',
  () => startSending({ SMTP_CONNECTIONS: String(CONNECTIONS) }),
  (test) => {
    test('are written together when they are of a campaign', async (service) => {
      let least = MESSAGES
      for (let round = 0; round < ROUNDS && least > 1; round += 1) {
        const commits = await commitsOf(service, async (project) => {
          await newContacts(service, MESSAGES, {}, project)
          const { id } = await newCampaign(service, {}, project)
          await sendNow(service, id, project)
        })
        least = Math.min(least, commits)
      }
      assert.is(least, 1)
    })

    test('do not wait for each other when they are transactional', async (service) => {
      const commits = await commitsOf(service, (project) =>
        Promise.all(
          Array.from({ length: MESSAGES }, (_, index) =>
            sendMail(service, `c${index}@example.org`, {}, project),
          ),
        ),
      )
      assert.ok(commits > 1, 'the first one is written at once')
    })
  },
)
