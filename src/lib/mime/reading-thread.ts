import { parentPort } from 'node:worker_threads'
import { asBuffer, memoryOf, type ReadingAnswer, type ReadingTask } from './moved-bytes.ts'
import { readMessage, UnreadableMessage } from './read-message.ts'

parentPort?.on('message', ({ raw }: ReadingTask) => {
  readMessage(asBuffer(raw)).then(
    (message) => {
      const moved = memoryOf([raw, ...message.files.map(({ content }) => content)])
      parentPort?.postMessage({ message, raw } satisfies ReadingAnswer, moved)
    },
    (error: unknown) => {
      if (!(error instanceof UnreadableMessage)) throw error
      parentPort?.postMessage({ problem: error.message } satisfies ReadingAnswer)
    },
  )
})
