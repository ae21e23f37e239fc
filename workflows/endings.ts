/**
 * Endings: reports to the process that runs a workflow how it ended, for traces and metrics.
 *
 * Invariants
 * - A report gives no command and waits for nothing: a history is the same with it and without it, and replays either way.
 * - A replay reports no ending a second time.
 */
import {
  ContinueAsNew,
  proxySinks,
  type Sink,
  type Sinks,
  type WorkflowInterceptors,
} from '@temporalio/workflow'

/** The report of a workflow's ending. */
export interface Ending {
  /** The workflow's argument. */
  readonly plan: unknown
  readonly result?: unknown
  /** Class and message of the failure. */
  readonly failure?: { readonly name: string; readonly message: string }
}

/** The sink that carries the report out of the sandbox. */
export interface EndingSinks extends Sinks {
  readonly endings: EndingSink
}

interface EndingSink extends Sink {
  ended(ending: Ending): void
}

/** The name under which the SDK looks for the interceptors. */
export const interceptors = (): WorkflowInterceptors => {
  const { endings } = proxySinks<EndingSinks>()
  return {
    inbound: [
      {
        execute(input, next) {
          const [plan] = input.args
          const running = next(input)
          // Beside the SDK's promise and not chained to it, so that the order of its steps stays as it was.
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
