/**
 * `npm run bench -- NAME`: one benchmark, progress on standard error, figures as one JSON line at the end.
 *
 * Invariants
 * - The last line of standard output is `{"benchmark", "figures", "machine"}`.
 * - A benchmark that ends without figures, by a fault or because nothing is left to wait for (Node's code 13), ends
 *   with another exit code than 0 and says so.
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
  'learning',
  'curve',
  'async',
  'agents',
  'remote',
  'store',
  'soak',
  'long-run',
  'sandbox',
]
const known = names.filter((name) => existsSync(fileOf(name)))

type OptionKind = 'count' | 'text' | 'texts'

/** The options of benchmarks: counts and texts by name, `texts` as often as one likes; benchmarks that are not here take none. */
const options: Readonly<Record<string, Readonly<Record<string, OptionKind>>>> = {
  'long-run': { episodes: 'count', readings: 'text' },
  agents: { turns: 'count' },
  async: { updates: 'count', skip: 'count', staleness: 'count' },
  curve: {
    config: 'text',
    set: 'texts',
    from: 'text',
    seed: 'count',
    updates: 'count',
    every: 'count',
    games: 'count',
  },
  remote: { turns: 'count' },
  learning: { updates: 'count', skip: 'count', turns: 'count', demonstrations: 'count', from: 'text' },
}
type Given = Readonly<Record<string, number | string | readonly string[]>>

// Measured work is always done, whatever was done before on this machine.
process.env.PERDURE_NO_CACHE = '1'

const [name = '', ...rest] = process.argv.slice(2)
const given = optionsFrom(rest, options[name] ?? {})
if (!known.includes(name) || given === undefined) {
  console.error(`Name one benchmark: ${known.join(', ')}. For example: npm run bench -- ${known[0]}`)
  for (const [taker, taken] of Object.entries(options))
    console.error(
      `${taker} takes ${Object.keys(taken)
        .map((each) => `--${each}`)
        .join(', ')}`,
    )
  process.exitCode = 2
} else {
  process.exitCode = await run(name, given)
}

/** @returns undefined where they cannot be understood */
function optionsFrom(
  args: readonly string[],
  taken: Readonly<Record<string, OptionKind>>,
): Given | undefined {
  try {
    const types = Object.entries(taken).map(([each, kind]) => [
      each,
      { type: 'string' as const, multiple: kind === 'texts' },
    ])
    const { values } = parseArgs({ args: [...args], options: Object.fromEntries(types) })
    const entries = Object.entries(values).map(([each, text]) => {
      if (Array.isArray(text)) return [each, text.map(String)] as const
      const value = taken[each] === 'count' ? Number(text) : String(text)
      if (typeof value === 'number' && !(Number.isInteger(value) && value >= 0))
        throw new RangeError(`--${each} ${text} is no count`)
      return [each, value] as const
    })
    return Object.fromEntries(entries)
  } catch {
    return undefined
  }
}

async function run(benchmark: string, given: Given): Promise<number> {
  const machine = describeMachine()
  console.error(`${benchmark} on ${machine.cores} × ${machine.cpu}, load ${machine.load}`)
  const started = performance.now()
  try {
    const module = (await import(fileOf(benchmark))) as { bench(given: Given): Promise<readonly Figure[]> }
    const figures = await module.bench(given)
    if (figures.length === 0) throw new Error('it ended without figures')
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
    /** The load of other programs, over the last minute; a busy machine measures itself. */
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  }
}
