/**
 * `npm run chaos -- --faults N --seed S`: a deployment that is broken on purpose, and the audit of what it did.
 *
 * Invariants
 * - The last line of standard output is the report; progress goes to standard error.
 * - The exit code is 0 exactly when nothing was lost, doubled or left, and a deterministic run ended as the
 *   undisturbed one; 2 where the call was wrong, 130 where it was interrupted.
 * - The run is the same each time; only the faults differ, by the seed of their plan.
 * - A run that cannot be compared (it does not continue, or has no checkpoint) is not equal.
 */
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Played } from './campaign.ts'
import { type FileSystem, fileSystems } from './disk.ts'
import { type FaultKind, faultKinds, faults } from './faults.ts'
import { type FleetOptions, fleet } from './fleet.ts'
import { type Report, reportOf } from './report.ts'
import { ChaosFault } from './waiting.ts'

interface Flags {
  readonly faults: number
  readonly each?: number
  readonly seed: number
  readonly kinds: readonly FaultKind[]
  readonly home?: string
  readonly keep?: boolean
  readonly deterministic?: boolean
  readonly runs: number
  readonly deployments: number
  readonly single?: boolean
  readonly fileSystem?: FileSystem
}

// Faults are to meet warm starts too, whatever was trained before on this machine.
process.env.PERDURE_NO_CACHE = '1'

/** Exit code of a call that cannot be understood. */
const wrongCall = 2

const width = Math.max(...faultKinds.map((kind) => kind.length)) + 2
const kindLines = faultKinds.map((kind) => `  ${kind.padEnd(width)}${faults[kind].summary}`)

const command = new Command('chaos')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : wrongCall))
  .description('Trains with a deployment of separate processes, breaks it by plan, and audits what it did.')
  .addOption(new Option('--faults <n>', 'faults to make').argParser(wholeNumber).default(10))
  .addOption(
    new Option('--each <n>', 'faults of each kind instead').argParser(wholeNumber).conflicts('faults'),
  )
  .addOption(new Option('--seed <s>', 'of the plan and the runs').argParser(wholeNumber).default(1))
  .addOption(
    new Option('--kinds <kinds>', 'kinds of faults, joined by commas; all by default')
      .argParser(knownKinds)
      .default(faultKinds, 'all'),
  )
  .addOption(
    new Option(
      '--deployments <n>',
      'deployments that are broken side by side; the next one that has recovered takes the next fault',
    )
      .argParser(wholeNumber)
      .default(1),
  )
  .option('--single', 'all roles in one process, which starts sooner')
  .addOption(
    new Option(
      '--file-system <name>',
      "of the homes' disks; by default each deployment has the next one",
    ).choices(fileSystems),
  )
  .option('--home <dir>', 'folder for homes, logs and temporary files; one of its own by default')
  .option('--keep', 'leaves that folder to be looked at')
  .addOption(
    new Option(
      '--deterministic',
      'a synchronous run with and without the faults; both must end with the same weights and moments',
    ).conflicts(['deployments', 'each']),
  )
  .addOption(
    new Option('--runs <n>', 'how often the deterministic run is played with faults, others each time')
      .argParser(wholeNumber)
      .default(1),
  )
  .addHelpText(
    'after',
    `
Kinds:
${kindLines.join('\n')}

Examples:
  $ npm run chaos -- --faults 100 --seed 1
  $ npm run chaos -- --each 10 --deployments 4
  $ npm run chaos -- --faults 10 --seed 7 --kinds kill-checkpoint,kill-publish --keep
  $ npm run chaos -- --faults 100 --single --file-system xfs --kinds power-cut,power-cut-store,power-cut-temporal
  $ npm run chaos -- --faults 5 --seed 3 --deterministic
  $ npm run chaos -- --faults 3 --seed 1 --deterministic --runs 20`,
  )

process.exitCode = await chaos(command.parse().opts<Flags>())

async function chaos(flags: Flags): Promise<number> {
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interrupted.abort(new Error(`interrupted by ${signal}`)))
  const started = performance.now()
  const tell = (line: string) =>
    console.error(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${line}`)
  const { single: isSingle, fileSystem } = flags
  const disks = fileSystem === undefined ? undefined : [fileSystem]
  const options = {
    ...{ ...flags, isSingle, fileSystems: disks },
    ...{ folder: flags.home, tell, signal: interrupted.signal },
  }
  try {
    const report =
      flags.deterministic === true ? await comparison(options, flags.runs) : reportOf(await fleet(options))
    console.log(JSON.stringify(report))
    const { checkpoints } = report
    const isSame = checkpoints === undefined || checkpoints.equal === checkpoints.disturbed.length
    return isSame && report.lost + report.doubled + report.left === 0 ? 0 : 1
  } catch (error) {
    for (const each of errorsIn(error)) console.error(each)
    return interrupted.signal.aborted ? 130 : 1
  }
}

/** The first fault, and those of the disposals that followed it, which Node would not print. */
function errorsIn(error: unknown): readonly unknown[] {
  return error instanceof SuppressedError
    ? [...errorsIn(error.suppressed), ...errorsIn(error.error)]
    : [error]
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number))
    throw new InvalidArgumentError('expected a whole number')
  return number
}

function knownKinds(text: string): readonly FaultKind[] {
  return text.split(',').map((name) => {
    const kind = faultKinds.find((candidate) => candidate === name.trim())
    if (kind === undefined)
      throw new InvalidArgumentError(`"${name}" is no kind; known: ${faultKinds.join(', ')}`)
    return kind
  })
}

/** Plays them one after the other. @throws ChaosFault when the undisturbed run does not continue */
async function comparison(given: Omit<FleetOptions, 'deployments'>, runs: number): Promise<Report> {
  const options: FleetOptions = { ...given, deployments: 1, deterministic: true, updates: given.faults }
  const { tell } = options
  tell('The run undisturbed')
  const calm = { ...options, faults: 0, folder: folderOf(options, 'undisturbed') }
  const [first] = await fleet(calm)
  const undisturbed = first?.checkpoint?.sha256 ?? null
  tell(`version ${first?.checkpoint?.version ?? 'none'}, ${undisturbed ?? 'no checkpoint'}`)
  const played = first === undefined ? [] : [first]
  const disturbed: (string | null)[] = []
  for (let number = 1; number <= runs; number++) {
    tell(`The run with faults, ${number} of ${runs}`)
    const planSeed = options.seed + number - 1
    const after = await goingOn({ ...options, planSeed, folder: folderOf(options, String(number)) })
    if (after !== undefined) played.push(after)
    const hash = after?.checkpoint?.sha256 ?? null
    disturbed.push(hash)
    const verdict = hash !== null && hash === undisturbed ? 'equal' : 'different'
    tell(`version ${after?.checkpoint?.version ?? 'none'}, ${hash ?? 'no checkpoint'}: ${verdict}`)
  }
  const equal = disturbed.filter((hash) => hash !== null && hash === undisturbed).length
  return { ...reportOf(played), checkpoints: { undisturbed, disturbed, equal } }
}

/** A campaign; undefined where the deployment did not continue, which must not cost what the others found. */
async function goingOn(options: FleetOptions): Promise<Played | undefined> {
  try {
    return (await fleet(options))[0]
  } catch (error) {
    if (!(error instanceof ChaosFault)) throw error
    options.tell(error.message)
    return undefined
  }
}

/** A folder for each run, beside one another. */
function folderOf({ folder }: FleetOptions, name: string): string | undefined {
  return folder === undefined ? undefined : `${folder}-${name}`
}
