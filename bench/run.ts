/**
 * `npm run bench -- NAME`: one benchmark, progress on standard error, figures as one JSON line at the end.
 *
 * Invariants
 * - The last line of standard output is `{"benchmark", "figures", "machine"}`.
 * - An unknown name or option ends with exit code 2 and names those that are known.
 */
import { existsSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Figure } from './figure.ts'

/** Benchmarks that the contracts name, and those of them that are here. */
const names = [
  'environment',
  'decode',
  'train',
  'orchestration',
  'async',
  'soak',
  'long-run',
  'schedule',
  'sandbox',
  'leaks',
  'signals',
]
const known = names.filter((name) => existsSync(fileOf(name)))

/** What a long run takes; the others take nothing. */
interface Options {
  readonly episodes?: number
  readonly readings?: string
}

const [name = '', ...rest] = process.argv.slice(2)
const options = optionsFrom(rest, name === 'long-run')
if (!known.includes(name) || options === undefined) {
  console.error(`Name one benchmark: ${known.join(', ')}. For example: npm run bench -- ${known[0]}`)
  console.error(
    'A long run takes options: npm run bench -- long-run --episodes 10000 --readings readings.jsonl',
  )
  process.exitCode = 2
} else {
  process.exitCode = await run(name, options)
}

/** @returns undefined where they cannot be understood */
function optionsFrom(args: readonly string[], allowed: boolean): Options | undefined {
  if (!allowed) return args.length === 0 ? {} : undefined
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { episodes: { type: 'string' }, readings: { type: 'string' } },
    })
    const episodes = values.episodes === undefined ? {} : { episodes: Number(values.episodes) }
    if (episodes.episodes !== undefined && !(episodes.episodes > 0)) return undefined
    return { ...episodes, ...(values.readings === undefined ? {} : { readings: values.readings }) }
  } catch {
    return undefined
  }
}

async function run(benchmark: string, options: Options): Promise<number> {
  const machine = describeMachine()
  console.error(`${benchmark} on ${machine.cores} × ${machine.cpu}, load ${machine.load}`)
  const started = performance.now()
  try {
    const module = (await import(fileOf(benchmark))) as { bench(options: Options): Promise<Figure[]> }
    const figures = await module.bench(options)
    const seconds = Math.round((performance.now() - started) / 100) / 10
    for (const figure of figures) console.error(lineOf(figure))
    console.log(JSON.stringify({ benchmark, figures, machine: { ...machine, seconds } }))
    return 0
  } catch (error) {
    console.error(error)
    return 1
  }
}

function fileOf(benchmark: string): string {
  return fileURLToPath(new URL(`./${benchmark}.ts`, import.meta.url))
}

function lineOf({ name, value, unit, reference, ratio }: Figure): string {
  const digits = (number: number) => Number(number.toPrecision(4))
  const beside =
    reference === undefined || ratio === undefined
      ? ''
      : `, reference ${digits(reference)}, ratio ${digits(ratio)}`
  return `  ${name}: ${digits(value)} ${unit}${beside}`
}

function describeMachine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGigabytes: Math.round(totalmem() / 1e8) / 10,
    platform: platform(),
    arch: arch(),
    node: process.versions.node,
    /** Of other programs, over the last minute; a busy machine measures itself. */
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  }
}
