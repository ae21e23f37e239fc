/**
 * Endings: tells the process that runs a workflow how it ended, for traces and metrics.
 *
 * Invariants
 * - It gives no command and waits for nothing: a history is the same with it and without it, and replays either way.
 * - An ending that is only replayed is not told again.
 */
import {
  ContinueAsNew,
  proxySinks,
  type Sink,
  type Sinks,
  type WorkflowInterceptors,
} from '@temporalio/workflow'

/** What a workflow tells of its ending. */
export interface Ending {
  /** What it was given. */
  readonly plan: unknown
  readonly result?: unknown
  /** Class and message of the failure. */
  readonly failure?: { readonly name: string; readonly message: string }
}

/** The way out of the sandbox. */
export interface EndingSinks extends Sinks {
  readonly endings: EndingSink
}

interface EndingSink extends Sink {
  ended(ending: Ending): void
}

/** The name under which the SDK looks for it. */
export const interceptors = (): WorkflowInterceptors => {
  const { endings } = proxySinks<EndingSinks>()
  return {
    inbound: [
      {
        execute(input, next) {
          const [plan] = input.args
          const running = next(input)
          // Beside the promise that the SDK waits for, so that its turns stay as they were.
          running.then(
            (result) => endings.ended({ plan, result }),
            (error: unknown) => {
              if (error instanceof ContinueAsNew) return
              const { name, message } = error instanceof Error ? error : new Error(String(error))
              endings.ended({ plan, failure: { name, message } })
            },
          )
          return running
        },
      },
    ],
  }
}
