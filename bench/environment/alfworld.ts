/**
 * Steps per second of ALFWorld, beside TextWorld on the same games and actions.
 *
 * Invariants
 * - Both engines play the same commands, and every state of both must be equal, else the benchmark fails.
 * - A step includes its observation and its list of admissible commands; starting a game is measured apart.
 */

import { execFile, spawn } from 'node:child_process'
import { access, mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { openDataset } from '../../envs/alfworld/dataset.ts'
import { generateGame } from '../../envs/alfworld/household/generator.ts'
import { readSettings } from '../../envs/alfworld/settings.ts'
import { reasonOf } from '../../faults/reason.ts'
import { seedOf, uniforms } from '../../identity/identity.ts'
import { cacheFolder } from '../../machine/files/folder.ts'
import { sharedData } from '../../test/support/shared-data.ts'
import { type GameSource, type GameState, openGame } from '../../worlds/text-adventure/game.ts'
import type { Figure } from '../figure.ts'

const gameCount = 5
const actionsPerGame = 40
/** Long enough that the clock and the compiler no longer matter. */
const measuredMs = 2000

/** The reference, as compared; another version may word things otherwise. */
const requirements = [['textworld[pddl]==1.7.0'], ['--no-deps', 'alfworld==0.4.2']] as const

/** Without TextWorld its figures have no reference. */
export async function bench(): Promise<Figure[]> {
  const games = (await pickGames()).map((source) => ({ source, ...randomPlay(source) }))
  const own = measure(games)
  const reference = await textworld(games).catch((error: unknown) => {
    console.error(`no reference: ${reasonOf(error)}`)
    return undefined
  })
  if (reference === undefined)
    return [figure('alfworld steps/s', own.steps), figure('alfworld starts/s', own.starts)]
  requireEqual(games, reference.states)
  return [
    figure('alfworld steps/s', own.steps, reference.steps / reference.seconds),
    figure('alfworld starts/s', own.starts, games.length / reference.startSeconds),
  ]
}

interface Play {
  readonly source: GameSource
  readonly actions: readonly string[]
  readonly states: readonly GameState[]
}

function figure(name: string, value: number, reference?: number): Figure {
  const unit = name.slice(name.lastIndexOf(' ') + 1)
  return reference === undefined
    ? { name, value, unit }
    : { name, value, unit, reference, ratio: value / reference }
}

async function pickGames(): Promise<GameSource[]> {
  const dir = sharedData('alfworld')
  try {
    await access(dir)
  } catch {
    console.error(`no official games in ${dir}: built-in ones are played`)
    const settings = readSettings({ difficulty: 'hard' })
    return Array.from({ length: gameCount }, (_, index) => generateGame('test', index, settings))
  }
  const dataset = await openDataset(dir)
  const split = dataset.splits.at(-1)
  if (split === undefined) throw new Error(`${dir} has no split`)
  const stride = Math.max(1, Math.floor(split.size / gameCount))
  return Array.from({ length: gameCount }, (_, at) =>
    dataset.open(dataset.instanceAt(split.name, at * stride)),
  )
}

/** Plays admissible commands, each verb as likely as any other. */
function randomPlay(source: GameSource): { actions: string[]; states: GameState[] } {
  const next = uniforms(seedOf(0, source.id))
  const game = openGame(source)
  const states = [game.start()]
  const actions: string[] = []
  while (actions.length < actionsPerGame) {
    const byVerb = Object.groupBy(
      states.at(-1)?.admissible ?? [],
      (command) => command.split(' ', 1)[0] ?? '',
    )
    const commands = Object.values(byVerb)[Math.floor(next() * Object.keys(byVerb).length)] ?? []
    const action = commands[Math.floor(next() * commands.length)] ?? 'look'
    actions.push(action)
    states.push(game.play(action))
  }
  return { actions, states }
}

/** Steps and starts per second; each pass opens all games again. */
function measure(plays: readonly Play[]): { steps: number; starts: number } {
  let passes = 0
  let startMs = 0
  let playMs = 0
  while (startMs + playMs < measuredMs) {
    for (const { source, actions } of plays) {
      const opened = performance.now()
      const game = openGame(source)
      game.start()
      const started = performance.now()
      for (const action of actions) game.play(action)
      playMs += performance.now() - started
      startMs += started - opened
    }
    passes++
  }
  const games = passes * plays.length
  return { steps: (games * actionsPerGame * 1000) / playMs, starts: (games * 1000) / startMs }
}

function requireEqual(plays: readonly Play[], reference: Reference['states']): void {
  plays.forEach(({ source, states }, game) => {
    states.forEach(({ observation, admissible, won }, step) => {
      const own = JSON.stringify([observation, admissible, won])
      const theirs = JSON.stringify(reference[game]?.[step])
      if (own !== theirs) throw new Error(`${source.id}, step ${step}: ${own} here, ${theirs} in TextWorld`)
    })
  })
}

const referenceOutput = z.object({
  states: z.array(z.array(z.tuple([z.string(), z.array(z.string()), z.boolean()]))),
  steps: z.number(),
  seconds: z.number(),
  startSeconds: z.number(),
})
type Reference = z.infer<typeof referenceOutput>

/** @throws Error where Python or the packages are missing */
async function textworld(plays: readonly Play[]): Promise<Reference> {
  const python = await referencePython()
  const input = plays.map(({ source, actions }) => ({
    domain: source.domain,
    grammar: source.grammar.replaceAll('@@TASK@@', () => source.task),
    problem: source.problem,
    actions,
  }))
  const child = spawn(python, [path.join(import.meta.dirname, 'textworld_reference.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  // A child that ends early is reported by its code, not by the broken pipe.
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(input))
  const output = (await child.stdout.setEncoding('utf8').toArray()).join('')
  const code = await closed
  if (code !== 0) throw new Error(`TextWorld ended with code ${code}`)
  return referenceOutput.parse(JSON.parse(output.trimEnd().split('\n').at(-1) ?? ''))
}

/** The Python of a virtual environment with TextWorld and ALFWorld, made in the user's cache when first needed. */
async function referencePython(): Promise<string> {
  const folder = path.join(cacheFolder(), 'textworld')
  const python = path.join(folder, 'bin', 'python')
  const run = promisify(execFile)
  if (
    await run(python, ['-c', 'import alfworld.agents.environment.alfred_tw_env']).then(
      () => true,
      () => false,
    )
  )
    return python
  console.error(`installing TextWorld into ${folder}`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(path.dirname(folder), { recursive: true })
  await run('python3', ['-m', 'venv', folder])
  for (const packages of requirements) await run(python, ['-m', 'pip', 'install', '--quiet', ...packages])
  return python
}
