/**
 * Prompts of long requests, made in a thread of their own: rendering and tokenizing megabytes takes seconds.
 *
 * Invariants
 * - [PROMPT-THREAD-1] The calling thread answers others meanwhile.
 * - A thread that is lost fails its calls; the next call starts another.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { ThreadCalls } from '../../machine/modules/thread-calls.ts'
import type { Words } from '../../policy/endpoint/prompt-encoder.ts'
import { CheckpointFault } from '../../policy/files/checkpoint-fault.ts'
import { ChatFault } from '../../policy/templates/template.ts'

/** The methods of the thread. */
export type PromptMethods = {
  /** The reply is null where there are more tokens than `most`. */
  readonly encode: {
    readonly request: {
      readonly checkpointDir: string
      readonly words: Words
      /** Tokens that the prompt may have at most. */
      readonly most: number
    }
    readonly reply: Int32Array | null
  }
}

export class PromptThread implements AsyncDisposable {
  #thread: { readonly worker: Worker; readonly calls: ThreadCalls<PromptMethods> } | undefined

  /** @returns undefined where there are more tokens than `most` @throws ChatFault, CheckpointFault */
  async encode(
    request: PromptMethods['encode']['request'],
    signal?: AbortSignal,
  ): Promise<Int32Array | undefined> {
    if (this.#thread === undefined || this.#thread.calls.isLost) this.#thread = start()
    return (await this.#thread.calls.call('encode', request, { signal })) ?? undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    thread?.calls.fail(new Error('the server is closed'))
    await thread?.worker.terminate()
  }
}

function start() {
  // The same folder holds the thread's module as source and in the package, under either extension.
  const worker = new Worker(new URL(`./prompt-worker${extname(import.meta.url)}`, import.meta.url), {
    name: 'prompts',
  })
  const calls = new ThreadCalls<PromptMethods>(worker, {
    faults: [ChatFault, CheckpointFault],
    onLoss: (loss) =>
      'cause' in loss ? loss.cause : new Error(`the thread of prompts ended with code ${loss.exitCode}`),
  })
  return { worker, calls }
}
