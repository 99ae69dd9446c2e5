import { type Actor, projectOf } from '../../admission/access.ts'
import { tooManyAnswers, tooManyBodies } from '../../errors.ts'
import { ByteBudget, type GiveBack } from './byte-budget.ts'

const MEGABYTE = 1024 * 1024
/** Up to this size, in bytes, a body or an answer is not counted: the limit of connections bounds these. */
export const UNCOUNTED = 64 * 1024
const WAIT_MS = 10_000

/** Memory that the bodies and the answers of all requests of a process may take. */
export type Budgets = Record<
  | ('largeBodies' | 'bodies' | 'publicBodies' | 'anonymousBodies')
  | ('answers' | 'waitingAnswers' | 'answerParts' | 'workedOn'),
  ByteBudget
>

/** Bodies above it, in bytes, are messages with much in them; they wait for each other only. */
const LARGE_BODY = MEGABYTE

/**
 * Parsed and worked on, a body takes up to six times its bytes, and an answer up to five times; together they leave a
 * process with 1 GB of heap below 700 MB.
 */
export const createBudgets = (): Budgets => ({
  largeBodies: new ByteBudget({
    total: 48 * MEGABYTE,
    perOwner: 32 * MEGABYTE,
    waitMs: WAIT_MS,
    refusal: tooManyBodies,
  }),
  bodies: new ByteBudget({
    total: 16 * MEGABYTE,
    perOwner: 4 * MEGABYTE,
    waitMs: WAIT_MS,
    refusal: tooManyBodies,
  }),
  publicBodies: new ByteBudget({
    total: 8 * MEGABYTE,
    perOwner: 2 * MEGABYTE,
    waitMs: WAIT_MS,
    refusal: tooManyBodies,
  }),
  anonymousBodies: new ByteBudget({
    total: 4 * MEGABYTE,
    perOwner: 4 * MEGABYTE,
    waitMs: WAIT_MS,
    refusal: tooManyBodies,
  }),
  answers: new ByteBudget({
    total: 48 * MEGABYTE,
    perOwner: 24 * MEGABYTE,
    waitMs: WAIT_MS,
    refusal: tooManyAnswers,
  }),
  // These are in memory already.
  waitingAnswers: new ByteBudget({
    total: 8 * MEGABYTE,
    perOwner: 4 * MEGABYTE,
    waitMs: 0,
    refusal: tooManyAnswers,
  }),
  answerParts: new ByteBudget({
    total: 16 * MEGABYTE,
    perOwner: 4 * MEGABYTE,
    waitMs: WAIT_MS,
    refusal: tooManyAnswers,
  }),
  // Each of them holds the event loop and a connection for a while.
  workedOn: new ByteBudget({
    total: 2 * MEGABYTE,
    perOwner: MEGABYTE,
    waitMs: WAIT_MS,
    refusal: tooManyAnswers,
  }),
})

/** The part of the budgets that one request has taken, for as long as it is worked on and its answer is on its way. */
export class RequestBytes {
  readonly #budgets: Budgets
  readonly #taken: GiveBack[] = []
  readonly #takenByBody: GiveBack[] = []
  #owner: string | null = null
  #isPublic = false
  #ofAnswer = 0
  #ofBody = 0
  #mustAnswer = false
  #isInParts = false

  get taken(): number {
    return this.#ofAnswer
  }

  /** Whether others may wait for room that its answer has. */
  get holdsRoom(): boolean {
    return this.#taken.length > 0 || this.#isInParts
  }

  constructor(budgets: Budgets) {
    this.#budgets = budgets
  }

  /**
   * A project's public key is known to everyone, so its requests take nothing from those with the secret key.
   */
  charge(actor: Actor): void {
    this.#isPublic = actor.kind === 'key' && actor.keyKind === 'public'
    this.#owner = ownerOf(actor)
  }

  /** Waits until there is room for a body of this size. Throws SERVICE_UNAVAILABLE. */
  async takeBody(bytes: number): Promise<void> {
    if (bytes <= UNCOUNTED) return
    this.#takenByBody.push(await this.#bodiesOf(bytes).take(bytes, this.#owner ?? ''))
    this.#ofBody += bytes
  }

  /** Takes room for more of a body whose length is not declared. Throws SERVICE_UNAVAILABLE. */
  takeMoreOfBody(bytes: number): void {
    const budget = this.#bodiesOf(Infinity)
    const owner = this.#owner ?? ''
    try {
      this.#takenByBody.push(budget.takeNow(bytes, owner))
    } catch {
      // A body that is larger than a share is admitted when its owner holds nothing else, and only as one.
      this.giveBackBody()
      this.#takenByBody.push(budget.takeNow(this.#ofBody + bytes, owner))
    }
    this.#ofBody += bytes
  }

  #bodiesOf(bytes: number): ByteBudget {
    const { anonymousBodies, publicBodies, largeBodies, bodies } = this.#budgets
    if (this.#owner === null) return anonymousBodies
    if (this.#isPublic) return publicBodies
    return bytes > LARGE_BODY ? largeBodies : bodies
  }

  /** The body is not needed any more. */
  giveBackBody(): void {
    for (const giveBack of this.#takenByBody.splice(0)) giveBack()
  }

  /** The request has done its work: its answer cannot be refused, whatever it takes. */
  mustAnswer(): void {
    this.#mustAnswer = true
  }

  /**
   * Takes room for this many bytes of the answer, before they are read. It waits for the room, unless the
   * request holds some already, which others may wait for. Throws SERVICE_UNAVAILABLE.
   */
  async takeAnswer(bytes: number): Promise<void> {
    const { answers } = this.#budgets
    const owner = this.#owner ?? ''
    if (this.#mustAnswer) this.#taken.push(answers.takeAnyway(bytes, owner))
    else
      this.#taken.push(this.#ofAnswer > 0 ? answers.takeNow(bytes, owner) : await answers.take(bytes, owner))
    this.#ofAnswer += bytes
  }

  /** Takes room for an answer that is ready to be written, unless it was taken before. Throws SERVICE_UNAVAILABLE. */
  takeReadyAnswerNow(bytes: number): void {
    const more = bytes - this.#ofAnswer
    if (more <= UNCOUNTED) return
    const { answers } = this.#budgets
    const owner = this.#owner ?? ''
    this.#taken.push(this.#mustAnswer ? answers.takeAnyway(more, owner) : answers.takeNow(more, owner))
    this.#ofAnswer += more
  }

  /** The same, waiting for it as `takeAnswer` does, together with a few others. Throws SERVICE_UNAVAILABLE. */
  async takeReadyAnswer(bytes: number): Promise<void> {
    const { answers, waitingAnswers } = this.#budgets
    const owner = this.#owner ?? ''
    const canWait = !this.#mustAnswer && this.#ofAnswer === 0
    if (bytes <= UNCOUNTED || !canWait || answers.hasRoomFor(bytes, owner)) {
      return this.takeReadyAnswerNow(bytes)
    }
    const leave = waitingAnswers.takeNow(bytes, owner)
    try {
      await this.takeAnswer(bytes)
    } finally {
      leave()
    }
  }

  /** Takes room for a part of an answer that is written in parts; each is given back when it is written. */
  takePart(bytes: number, mayBeRefused: boolean): Promise<GiveBack> {
    const { answerParts } = this.#budgets
    const owner = this.#owner ?? ''
    this.#isInParts = true
    return mayBeRefused ? answerParts.take(bytes, owner) : answerParts.takeInTime(bytes, owner)
  }

  /** Waits until a part of this size may be created; a project creates one at a time beyond its share. */
  takeTurn(bytes: number): Promise<GiveBack> {
    return this.#budgets.workedOn.takeInTime(bytes, this.#owner ?? '')
  }

  giveBack(): void {
    this.giveBackBody()
    for (const giveBack of this.#taken.splice(0)) giveBack()
  }
}

/** Members share with the secret key of their project. */
function ownerOf(actor: Actor): string | null {
  const project = projectOf(actor)
  if (project) return `${actor.kind === 'key' ? actor.keyKind : 'secret'} ${project.id}`
  return actor.kind === 'user' ? `user ${actor.user.id}` : null
}
