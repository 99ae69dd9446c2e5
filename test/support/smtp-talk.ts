import { connect, type Socket } from 'node:net'

/** A conversation, line by line, in clear text. */
export async function talk(port: number, localAddress = '127.0.0.1'): Promise<Talk> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  const talking = new Talk(socket)
  await talking.reply()
  return talking
}

export class Talk {
  readonly #socket: Socket
  #heard = ''
  #waiting: (() => void)[] = []
  #isOver = false

  get isOver(): boolean {
    return this.#isOver
  }

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (data: Buffer) => {
      this.#heard += data.toString()
      this.#wake()
    })
    socket.on('close', () => {
      this.#isOver = true
      this.#wake()
    })
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** The next reply, all of its lines; what came before the end when the connection is closed. */
  async reply(): Promise<string> {
    for (;;) {
      const whole = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(this.#heard)?.[0]
      if (whole !== undefined) {
        this.#heard = this.#heard.slice(whole.length)
        return whole.trimEnd()
      }
      if (this.#isOver) return this.#heard || 'closed'
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  write(text: string | Buffer): void {
    this.#socket.write(text)
  }

  async ask(line: string): Promise<string> {
    this.write(`${line}\r\n`)
    return this.reply()
  }

  /** A message as it stands on the wire; returns the last reply. */
  async send(from: string, to: string[], message: string | Buffer): Promise<string> {
    const sender = await this.ask(`MAIL FROM:<${from}>`)
    if (!sender.startsWith('250')) return sender
    for (const address of to) {
      const answer = await this.ask(`RCPT TO:<${address}>`)
      if (!answer.startsWith('250')) return answer
    }
    const go = await this.ask('DATA')
    if (!go.startsWith('354')) return go
    this.write(message)
    return this.ask('\r\n.')
  }

  close(): void {
    this.#socket.destroy()
  }
}
