/**
 * `pause`, `continue`, `stop`: steer a run that goes on elsewhere.
 *
 * Invariants
 * - A command returns once the run has taken the order, and then says what holds.
 */
import { Command } from 'commander'
import type { TrainingSession } from '../workers/training-session.ts'
import { homeOption, jsonOption, type ReportOptions, runName } from './options.ts'
import { openTerminal } from './terminal.ts'

interface Order {
  readonly name: 'pause' | 'continue' | 'stop'
  readonly summary: string
  readonly description: string
  /** What holds afterwards. */
  said(run: string): string
}

const orders: readonly Order[] = [
  {
    name: 'pause',
    summary: 'admit no more groups until told to continue',
    description: 'Admits no more groups; episodes in flight are played to their end.',
    said: (run) => `Run ${run} is paused; \`perdure continue ${run}\` lets it go on.`,
  },
  {
    name: 'continue',
    summary: 'let a paused run go on',
    description: 'Lets a paused run go on.',
    said: (run) => `Run ${run} goes on.`,
  },
  {
    name: 'stop',
    summary: 'end a run after the update in hand',
    description: 'Ends a run after the update in hand; `perdure resume` goes on from there.',
    said: (run) => `Run ${run} stops after the update in hand; \`perdure resume ${run}\` goes on from there.`,
  },
]

/** `perdure pause RUN`, `perdure continue RUN`, `perdure stop RUN`. */
export function steerCommands(): readonly Command[] {
  return orders.map((order) =>
    new Command(order.name)
      .summary(order.summary)
      .description(order.description)
      .argument('<run>', 'name of the run', runName)
      .addOption(homeOption())
      .addOption(jsonOption())
      .addHelpText('after', `\nExamples:\n  $ perdure ${order.name} first`)
      .action(async (run: string, options: ReportOptions) => {
        const terminal = openTerminal(options)
        await withClient(options.home, (session) => session[order.name](run))
        terminal.report({ run, order: order.name }, [order.said(run)])
      }),
  )
}

async function withClient(home: string, work: (session: TrainingSession) => Promise<void>): Promise<void> {
  const { openSession } = await import('../workers/training-session.ts')
  const session = await openSession({ home, roles: 'client', log: () => undefined })
  try {
    await work(session)
  } finally {
    await session.close()
  }
}
