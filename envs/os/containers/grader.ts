/**
 * Grading of official items, out of the agent's reach.
 *
 * The attacks of an agent that is root on its machine, and why each gains nothing:
 *
 * - It replaces `ls`, `bash` or `python3`, puts others before them on the PATH, writes `/etc/ld.so.preload`,
 *   profiles, Python's or Perl's start-up files, or configures name services, PAM or alternatives: no program
 *   of its machine takes part. Checks run in containers of their own from the pristine image, with an
 *   environment of their own; of the agent's machine they get data (`overlay.ts`).
 * - It leaves processes behind that change files, answer checks, trace or kill the grader: its machine is
 *   frozen while it is looked at, and the containers of the grader are not its own.
 * - It changes what the question is about, such as deleting the files that it was asked to count: the right
 *   answer is computed on another machine, made ready in the same way, where the agent never was.
 * - It shows the grader links to elsewhere: files are copied as what they are and no link is followed.
 * - It ends its machine, or fills it so that it cannot be looked at in time: nothing is fulfilled.
 *
 * A check that by its own text runs what the agent was asked to make (a command `calc`) trusts that command
 * with its own container, as the publisher's does. It does not trust what the command prints: published checks that
 * make code of it are corrected (`../corrected-checks.ts`). That container has the capabilities of the agent's machine
 * and no more, so the command reaches what it reached before, and no other session.
 *
 * Invariants
 * - The chain is AgentBench's: each script gets the answer and the outputs before it, and one that fails ends
 *   it unfulfilled. The example solution takes the place of `null`.
 * - The example runs where the agent never was; only where making the machine again would make another one
 *   (it draws from the system's chance) it runs over the agent's files, as AgentBench has it.
 * - Scripts that only compare their arguments need no machine of the agent; all others run over its files.
 * - Grading ends within its time: what the agent's work keeps it from is not fulfilled, never a fault.
 * - No container outlives the grading.
 */
import type { Container, ExecResult } from '../../../worlds/containers/sandbox.ts'
import { EnvironmentFault } from '../../contract/environment.ts'
import type { OsItem } from '../item.ts'
import type { Script } from '../script.ts'
import { lineOf } from './invocation.ts'
import { gradingPath, layOver, lookedAt } from './overlay.ts'
import { type MachineRoom, preparedMachine } from './preparation.ts'
import { checkSpec, rootEnvironment, rootFolder } from './spec.ts'

/** A check computes little, but a hostile command that it calls may never end. */
const defaultCheckMs = 60_000

/** Times of a check that all checks of one submission have together: well within the step that they are part of. */
const checksInTime = 4

/** The longest answer to a question is a path; one argument could hold eight times this. */
const answerLimit = 16_384

/** Whether what was submitted fulfils the item. @throws EnvironmentFault where it could not be found out */
export async function gradeItem(
  item: OsItem,
  submitted: string,
  machine: Container,
  room: MachineRoom,
): Promise<boolean> {
  const { evaluation } = item
  if (submitted.length > answerLimit || submitted.includes('\0')) return false
  if (evaluation.kind === 'match') return stripped(submitted, evaluation.strip) === evaluation.answer
  if (evaluation.kind === 'regex')
    return new RegExp(evaluation.pattern).test(stripped(submitted, evaluation.strip))
  const examiner = new Examiner(item, machine, room)
  try {
    const outputs: string[] = []
    for (const step of evaluation.chain) {
      const script = step === 'example' ? exampleOf(item) : step
      const result = await examiner.run(script, step === 'example', [submitted, ...outputs])
      if (result === undefined || result.exitCode !== 0) return false
      outputs.push(result.stdout)
    }
    return true
  } finally {
    await examiner.close()
  }
}

function stripped(text: string, strip: boolean): string {
  return strip ? text.trim() : text
}

function exampleOf({ id, example }: OsItem): Script {
  if (example === undefined) throw new EnvironmentFault('bad_data', `item ${id} has no example solution`)
  return example
}

/** Where a script has to run. */
type Place = 'reference' | 'inspector'

/** Modules of Python that look at nothing. */
const blindModules = 'sys|re|json|math|string|decimal|fractions|itertools|collections|functools'

/** Whether the script only compares its arguments: Python without a way to look at the machine. */
export function onlyCompares({ language, code }: Script): boolean {
  if (language !== 'python') return false
  const imports = code.match(/^\s*(?:import|from)\b.*$/gm) ?? []
  const blind = new RegExp(`^\\s*(?:import (?:${blindModules})\\s*$|from (?:${blindModules}) import )`)
  return (
    imports.every((line) => blind.test(line)) &&
    !/\b(?:open|exec|eval|compile|__import__|input)\b|__/.test(code)
  )
}

/** Whether making the machine twice gives two: the scripts draw from the system's chance. */
export function drawsChance({ init, start }: OsItem): boolean {
  return [...init, ...(start === undefined ? [] : [start])].some(({ code }) =>
    /urandom|\/dev\/random|\bshuf\b|\buuid|\bmktemp\b|\bopenssl\b|sort\s+(?:-\w+\s+)*-\w*R|\brand\(|import random|from random|\bSRANDOM\b|%N|\$\$/.test(
      code,
    ),
  )
}

/** The containers of one grading, made when they are needed. */
class Examiner {
  readonly #item: OsItem
  readonly #machine: Container
  readonly #room: MachineRoom
  readonly #containers = new Map<Place, Container>()
  /** When the grading is out of time, in milliseconds since the epoch. */
  readonly #until: number

  constructor(item: OsItem, machine: Container, room: MachineRoom) {
    this.#item = item
    this.#machine = machine
    this.#room = room
    this.#until = Date.now() + checksInTime * this.#checkMs
  }

  get #checkMs(): number {
    return this.#room.checkMs ?? defaultCheckMs
  }

  /** Undefined where the agent's machine cannot be looked at, or no time is left. */
  async run(script: Script, isExample: boolean, args: readonly string[]): Promise<ExecResult | undefined> {
    const place: Place =
      onlyCompares(script) || (isExample && !drawsChance(this.#item)) ? 'reference' : 'inspector'
    const container = await this.#at(place)
    const left = this.#until - Date.now()
    if (container === undefined || left <= 0) return undefined
    return container.exec(lineOf(script, args), {
      deadlineMs: Math.min(this.#checkMs, left),
      workingDirectory: rootFolder,
      environment: {
        ...rootEnvironment,
        PATH: gradingPath,
        // No modules from the current folder or from root's home.
        PYTHONSAFEPATH: '1',
        PYTHONNOUSERSITE: '1',
      },
    })
  }

  /** The inspector first: it needs the agent's machine. */
  async close(): Promise<void> {
    for (const place of ['inspector', 'reference'] as const) await this.#containers.get(place)?.release()
    this.#containers.clear()
  }

  async #at(place: Place): Promise<Container | undefined> {
    const known = this.#containers.get(place)
    if (known !== undefined) return known
    const container = place === 'reference' ? await this.#reference() : await this.#inspector()
    if (container !== undefined) this.#containers.set(place, container)
    return container
  }

  #reference(): Promise<Container> {
    return preparedMachine(this.#item, this.#room)
  }

  async #inspector(): Promise<Container | undefined> {
    const spec = checkSpec(await this.#room.imageOf(this.#item.image))
    const inspector = await lookedAt(this.#machine, spec)
    if (inspector === undefined) return undefined
    if (await layOver(inspector, spec.image, { deadlineMs: this.#checkMs })) return inspector
    await inspector.release()
    return undefined
  }
}
