/**
 * Options and arguments that several commands share, read and checked in one place.
 *
 * Invariants
 * - A value that cannot be used ends the command before anything started, with a message that names the flag.
 */
import { type Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { isRunName } from '../../identity/identity.ts'
import { withoutTilde } from '../../machine/files/folder.ts'
import { defaultHome } from '../../storage/disk/home.ts'

/** Makes an empty text a wrong value of whatever a command is given: it mostly comes of a variable that is not set. */
export function refuseEmptyValues({ options, registeredArguments }: Command): void {
  const flags = options.filter(({ required, optional }) => required || optional)
  for (const taker of [...flags, ...registeredArguments]) taker.argParser(notEmpty(taker))
}

function notEmpty({ parseArg, variadic }: Option | Argument) {
  return (text: string, before: unknown): unknown => {
    if (text.trim() === '') throw new InvalidArgumentError('It is empty: give a value, or leave it out.')
    if (parseArg !== undefined) return parseArg(text, before)
    return variadic ? [...(Array.isArray(before) ? before : []), text] : text
  }
}

/** `--home DIR`: where runs, the store and the embedded server's file lie. */
export function homeOption(): Option {
  return new Option('--home <dir>', 'directory that keeps runs, checkpoints and the embedded server')
    .env('PERDURE_HOME')
    .default(defaultHome)
    .argParser(shellPath)
}

/** A path as it was given; a `~` in it would be a folder of that name. @throws InvalidArgumentError */
export function shellPath(path: string): string {
  const meant = withoutTilde(path)
  if (meant === undefined) return path
  throw new InvalidArgumentError(`Give ${meant}: only a shell replaces "~".`)
}

/** The home as commands that are shown name it: the default one goes without saying. */
export function homeToName(home: string): string | undefined {
  return home === defaultHome ? undefined : home
}

/** `--json`: one JSON document on standard output and nothing else. */
export function jsonOption(): Option {
  return new Option('--json', 'print JSON, and nothing else, on standard output')
}

/** `--set key=value`, repeatable. */
export function setOption(): Option {
  return new Option(
    '--set <key=value>',
    'set one value of the configuration, e.g. rollout.groupSize=4; repeatable',
  ).argParser((text: string, before: string[] = []) => [...before, text])
}

/** `--no-cache`: warm starts that were made before are made again. */
export function noCacheOption(): Option {
  return new Option(
    '--no-cache',
    'make a warm start again that is in the cache; PERDURE_NO_CACHE does so too',
  )
}

/** The flag as a session takes it. */
export function cacheWanted({ cache }: CacheFlag): boolean | undefined {
  return cache === false ? false : undefined
}

export interface CacheFlag {
  /** False where `--no-cache` was given. */
  readonly cache?: boolean
}

/** Options of commands that start workers. */
export interface MetricsFlags {
  readonly metricsPort?: number
  readonly metricsHost?: string
}

/** `--metrics-port N` and `--metrics-host HOST`: where Prometheus may fetch figures. */
export function metricsOptions(): readonly [Option, Option] {
  return [
    new Option('--metrics-port <n>', 'serve metrics for Prometheus on this port; 0 takes any free one')
      .env('PERDURE_METRICS_PORT')
      .argParser(portNumber),
    new Option(
      '--metrics-host <host>',
      'where they are served; another than loopback needs PERDURE_METRICS_TOKEN',
    ).env('PERDURE_METRICS_HOST'),
  ]
}

/** @returns undefined where no metrics are asked for */
export function metricsPlace({ metricsPort: port, metricsHost: host }: MetricsFlags) {
  const token = process.env.PERDURE_METRICS_TOKEN
  return port === undefined ? undefined : { port, host, token: token === '' ? undefined : token }
}

/** A number above 0, e.g. 2e14. @throws InvalidArgumentError */
export function positiveNumber(text: string): number {
  const number = Number(text)
  if (Number.isFinite(number) && number > 0) return number
  throw new InvalidArgumentError('Use a number above 0, such as 2000 or 2e14.')
}

/** A port. @throws InvalidArgumentError */
export function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text)
  throw new InvalidArgumentError('Use a port number from 0 to 65535.')
}

/** Completes a command that reports by its last options, `--home` and `--json`, and examples of its calls. */
export function reporting(command: Command, examples: readonly string[]): Command {
  return command
    .addOption(homeOption())
    .addOption(jsonOption())
    .addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ perdure ${example}`).join('\n')}`)
}

/** Options of commands with `--home` and `--json`. */
export interface ReportOptions {
  readonly home: string
  readonly json?: boolean
}

/** A run's name. @throws InvalidArgumentError */
export function runName(text: string): string {
  if (isRunName(text)) return text
  throw new InvalidArgumentError(
    'Use up to 64 letters, digits, ".", "_" or "-", starting with a letter or digit.',
  )
}

/** A whole number from 1 on. @throws InvalidArgumentError */
export function positiveInteger(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Use a whole number from 1 on.')
}

/** A whole number from 0 on. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Use a whole number from 0 on.')
}

/** A run with or without a version. */
export interface RunVersion {
  readonly run: string
  readonly version?: number
}

/** `RUN` or `RUN@VERSION`. @throws InvalidArgumentError */
export function runVersion(text: string): RunVersion {
  const [name = '', version, ...more] = text.split('@')
  if (more.length > 0 || (version !== undefined && !/^\d{1,9}$/.test(version)))
    throw new InvalidArgumentError('Use RUN or RUN@VERSION, where VERSION is a whole number, e.g. demo@20.')
  return { run: runName(name), ...(version === undefined ? {} : { version: Number(version) }) }
}
