/**
 * `clean [RUN]`: remove what the retention of runs lets go.
 *
 * Invariants
 * - `--dry-run` removes nothing and shows the same table.
 * - The report names each thing removed, the reason and its bytes, one line each in the JSON.
 */
import { relative } from 'node:path'
import { Command } from 'commander'
import type { Cleaning } from '../../client/cleaning.ts'
import { parseOverride, withOverride } from '../../config/files/overrides.ts'
import { withoutRemoved } from '../../config/files/stored-config.ts'
import type { Tree } from '../../config/files/tree.ts'
import { configSchema, type RunConfig } from '../../config/schema/schema.ts'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { hasStore } from '../../storage/place.ts'
import type { Removal } from '../../storage/records/retention.ts'
import type { StoredRun } from '../../storage/records/runs.ts'
import { openStore } from '../../storage/store.ts'
import { CallFault } from '../terminal/failure.ts'
import { type ReportOptions, reporting, runName, setOption } from '../terminal/options.ts'
import { Table } from '../terminal/table.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { bytes, count } from '../terminal/wording.ts'

interface CleanOptions extends ReportOptions {
  readonly set?: readonly string[]
  readonly dryRun?: boolean
}

/** `perdure clean [RUN]`. */
export function cleanCommand(): Command {
  return reporting(
    new Command('clean')
      .summary('remove what the retention of runs lets go')
      .description(
        'Removes checkpoints, batch files, trajectories, histories and logs beyond what each run keeps by its `retention`;\n' +
          'never anything that a run in progress needs. With --set another retention counts, this once.',
      )
      .argument('[run]', 'name of the run; all by default', runName)
      .addOption(setOption())
      .option('--dry-run', 'show what would go, remove nothing'),
    [
      'clean --dry-run',
      'clean first',
      'clean first --set training.keepCheckpoints=2 --set retention.trajectoryDays=1',
      'clean --set retention.historyDays=7 --json',
    ],
  ).action(async (run: string | undefined, options: CleanOptions) => {
    const terminal = openTerminal(options)
    const { dryRun = false } = options
    const home = homeAt(options.home)
    if (!(await hasStore(home.storeFile))) {
      if (run !== undefined) throw unknownRun(run, home.dir)
      terminal.report({ dryRun, removed: [], bytes: 0 }, [`Nothing in ${home.dir} yet.`])
      return
    }
    await using store = await openStore(home.storeFile, {
      create: false,
      access: dryRun ? 'read' : 'write',
    })
    const stored = await store.runs.list()
    const chosen = run === undefined ? stored : stored.filter(({ id }) => id === runId(run))
    if (run !== undefined && chosen.length === 0) throw unknownRun(run, home.dir)
    const runs = chosen.map((each) => ({
      run: each.id,
      created: each.created,
      config: retaining(each, options.set ?? []),
    }))
    const { createCleaning } = await import('../../client/cleaning.ts')
    const cleaning = createCleaning(home, store, (line) => terminal.say(line), Date.now())
    const found = await cleaning.look(runs)
    const compaction = dryRun ? undefined : await cleaning.remove(found)
    const rows = rowsOf(found, home.dir)
    const total = rows.reduce((sum, row) => sum + row.bytes, 0)
    terminal.report({ dryRun, removed: rows, bytes: total, ...(compaction && { compaction }) }, [
      ...(rows.length === 0 ? [] : [tableOf(rows)]),
      rows.length === 0
        ? 'Nothing is beyond what the runs keep; --set gives another retention for this once.'
        : `${bytes(total)} ${dryRun ? 'would go' : 'are gone'}.`,
    ])
  })
}

function unknownRun(run: string, home: string): CallFault {
  return new CallFault(
    'bad_argument',
    `RUN is "${run}": ${home} has no such run; \`perdure runs\` lists them`,
  )
}

/** The run's configuration, with another retention where one is given. @throws CallFault, ConfigFault */
function retaining({ config }: StoredRun, set: readonly string[]): RunConfig {
  let tree = withoutRemoved(config) as Tree
  for (const override of set.map(parseOverride)) {
    const key = override.path.join('.')
    if (override.path[0] !== 'retention' && key !== 'training.keepCheckpoints')
      throw new CallFault(
        'bad_flag',
        `--set ${override.text}: expected a key of \`retention\`, or training.keepCheckpoints`,
      )
    tree = withOverride(tree, override)
  }
  const parsed = configSchema.safeParse(tree)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new CallFault('bad_flag', `--set: \`${issue?.path.join('.')}\`: ${issue?.message}`)
}

interface Row {
  readonly run: string | null
  readonly kind: Removal['kind'] | 'history' | 'log'
  readonly what: string
  readonly bytes: number
  readonly why: string
}

function rowsOf({ runs, histories, logs }: Cleaning, home: string): readonly Row[] {
  return [
    ...runs.flatMap(({ run, removals }) =>
      removals.map(
        (removal): Row => ({
          run,
          kind: removal.kind,
          what: nameOf(removal),
          bytes: removal.bytes,
          why: removal.why,
        }),
      ),
    ),
    ...histories.flatMap(({ run, executions }) =>
      executions.map(
        (execution): Row => ({
          run,
          kind: 'history',
          what: execution.workflowId,
          bytes: execution.bytes,
          why: 'ended longer ago than histories are kept',
        }),
      ),
    ),
    ...logs.map(
      (log): Row => ({
        run: null,
        kind: 'log',
        what: relative(home, log.file),
        bytes: log.bytes,
        why: 'longer than logs may be; its end stays',
      }),
    ),
  ]
}

function nameOf(removal: Removal): string {
  switch (removal.kind) {
    case 'checkpoint':
      return `v${removal.version}`
    case 'batch':
      return `update ${removal.step}`
    case 'warm start':
      return removal.name
    case 'trajectories':
      return removal.parent
  }
}

/** One line for what goes together: same run, kind and reason. */
function tableOf(rows: readonly Row[]): Table {
  const together = Map.groupBy(rows, ({ run, kind, why }) => JSON.stringify([run, kind, why]))
  return new Table({
    head: ['run', 'what goes', 'bytes', 'why'],
    aligns: ['left', 'left', 'right', 'left'],
    rows: [...together.values()].flatMap(([first, ...rest]) => {
      if (first === undefined) return []
      const all = [first, ...rest]
      const what =
        rest.length === 0
          ? `${first.kind} ${first.what}`
          : `${first.kind} × ${count(all.length)}: ${first.what} … ${rest.at(-1)?.what}`
      const size = all.reduce((sum, row) => sum + row.bytes, 0)
      return [[first.run ?? '', what, bytes(size), first.why]]
    }),
  })
}
