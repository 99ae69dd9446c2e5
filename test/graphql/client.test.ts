import { GraphQLClient, gql } from 'graphql-request'
import * as assert from 'uvu/assert'
import { scenario } from '../support/scenario.ts'
import { startService, until } from '../support/service.ts'

const SEND = gql`
  mutation Send($input: SendEmailInput!) {
    sendEmail(input: $input) { emails { email contact { id email } } timestamp }
  }
`

const EMAIL = gql`
  query Email($id: ID!) {
    email(id: $id) { status subject body toName attempts }
  }
`

scenario('A GraphQL client', startService, (test) => {
  test('sends a message and follows it until it is sent', async ({ url, project }) => {
    const client = new GraphQLClient(`${url}/graphql`, {
      headers: { authorization: `Bearer ${project.secret}` },
    })
    const input = {
      to: { name: 'Ada', email: 'ada@example.org' },
      from: `hello@${project.domain}`,
      subject: 'Hello {{name}}',
      body: '<p>{{plan}}</p>',
      data: { plan: 'pro' },
    }
    const { sendEmail } = await client.request<{ sendEmail: { emails: { email: string }[] } }>(SEND, {
      input,
    })
    const id = sendEmail.emails[0]?.email
    const email = await until('the email to be sent', async () => {
      const answer = await client.request<{ email: { status: string } }>(EMAIL, { id })
      return answer.email.status === 'SENT' ? answer.email : null
    })
    assert.equal(email, {
      status: 'SENT',
      subject: 'Hello Ada',
      body: '<p>pro</p>',
      toName: 'Ada',
      attempts: 1,
    })
  })
})
