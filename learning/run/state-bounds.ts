/**
 * Bounds of what a run carries from one execution to the next, however long it lasts.
 *
 * Invariants
 * - Each list that a run carries is bounded here or by its configuration, each text by its bytes.
 * - The size that a configuration may lead to is estimated from above: with long numbers, and every list full.
 */
import { longestUnit } from '../evaluation/measure.ts'
import { mostSkipped } from '../rollout/refill.ts'

/** Bytes of a state as JSON at most; Temporal takes 32 times that in one message. */
export const mostStateBytes = 65_536

/** The best and the latest complete evaluation of each suite are carried too. */
export const latestEvaluations = 2
/** Evaluations of other suites than the configured ones: by hand, with other numbers of episodes. */
export const otherEvaluations = 8
export const carriedFailures = 4
export const carriedPins = 64
/** Instances that are left out. */
export const carriedLeftOut = 64
/** The most bytes of a reason or a message, as JSON. */
export const textBytes = 1_000
/** The most bytes of a reason of which there may be several. */
export const shortTextBytes = 200
/** The most bytes of the name of the sender of an order. */
export const nameBytes = 100

/** Evaluations in flight beyond which the run waits for some of them, so that no more than a few rounds pile up. */
export function evaluationsInFlight(suites: number): number {
  return Math.max(32, suites)
}

/** Evaluations in flight at most: a round may be due at the limit, a last one at the end. */
export function mostEvaluations(suites: number): number {
  return evaluationsInFlight(suites) + 2 * suites
}

/** Bytes of a value as JSON in UTF-8. */
export function jsonBytes(value: unknown): number {
  let bytes = 0
  for (const letter of JSON.stringify(value) ?? '') {
    const code = letter.codePointAt(0) ?? 0
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}

/** The beginning of a text, so much of it that its JSON takes no more bytes than that. */
export function clipped(text: string, bytes: number): string {
  if (jsonBytes(text) <= bytes) return text
  let beginning = ''
  let left = bytes - jsonBytes('…')
  for (const letter of text) {
    left -= jsonBytes(letter) - 2 // without the quotes
    if (left < 0) break
    beginning += letter
  }
  return `${beginning}…`
}

/** The parts of a configuration that bound the state of its run. */
export interface StateSize {
  readonly tasks: readonly { readonly task: string }[]
  readonly rollout: {
    readonly groupsPerUpdate: number
    readonly maxStaleness: number
    readonly groupsInFlight?: number | null | undefined
    readonly refill: number
  }
  readonly crossPolicy: { readonly poolSize: number }
  readonly training: { readonly updates: number }
  readonly evaluation: {
    readonly suites: readonly { readonly name: string; readonly measure?: { readonly of: string } }[]
    readonly gates: readonly object[]
  }
}

/** Bytes of a state at most, by what asks for them. */
export interface StateShares {
  readonly tasks: number
  readonly suites: number
  readonly groups: number
  /** Everything else, most of it the same for all runs. */
  readonly rest: number
}

/** A number with all its digits. */
const figure = 24
// The JSON around the numbers and names.
const groupFields = '{"number":,"taskIndex":12,"version":,"pool":[],"position":},'.length
const readyFields = '{"number":,"version":},'.length
const skippedFields = '{"step":,"numbers":[]},'.length
const summaryFields = '{"suite":,"version":,"success":,"n":123456,"planned":123456},'.length
/** More of a suite that is judged by another measure than success. */
const measuredFields =
  ',"measured":{"of":,"better":"higher","unit":,"value":,"low":,"high":}'.length +
  3 * figure +
  2 * (longestUnit + 2)
const runningFields = '{"suite":,"version":,"lost":2,"waits":"to_be_given_up"},'.length
const memberFields = '{"version":,"weight":},'.length
const failureFields = '{"suite":,"version":,"reason":},'.length
/** The JSON of an order for a gate. */
const gateFields = '"12":,'.length + figure
const leftOutFields = '{"count":,"inARow":,"reason":,"places":[],"passed":[]},"sizes":[]'.length
const placeFields = '{"taskIndex":12,"place":},'.length
const orderBytes = 250 + nameBytes + shortTextBytes
/** Learning settings and a roll-back: of each the latest order may wait. */
const waitingOrders = 9
const phaseAndCounters = 1_500
/** The most bytes of a suite whose number of episodes differs from its own. */
const otherSuiteBytes = 60

/** The largest state of a run. @param config the whole configuration, which is carried too */
export function stateShares(config: StateSize): StateShares {
  const { tasks, crossPolicy, evaluation } = config
  const { version, group } = digitsOf(config)
  const suites = evaluation.suites.map(({ name }) => jsonBytes(name))
  const measured = evaluation.suites.flatMap(({ measure }) =>
    measure === undefined || measure.of === 'success' ? [] : [jsonBytes(measure.of)],
  )
  const longest = Math.max(0, ...suites)
  const perTask = tasks.map(({ task }) => 3 * (jsonBytes(task) + figure + 2) + 4 * (figure + 1))
  return {
    tasks: jsonBytes(tasks) + sum(perTask),
    suites:
      jsonBytes(evaluation) +
      evaluation.gates.length * gateFields +
      sum(suites.map((name) => (latestEvaluations + 2) * (summaryFields + name + version + figure))) +
      sum(measured.map((of) => (latestEvaluations + 2) * (measuredFields + of))) +
      otherEvaluations *
        (summaryFields +
          otherSuiteBytes +
          version +
          figure +
          (measured.length === 0 ? 0 : measuredFields + Math.max(...measured))) +
      mostEvaluations(suites.length) * (runningFields + longest + version) +
      carriedFailures * (failureFields + longest + version + shortTextBytes),
    groups: groupBytes(config),
    rest:
      jsonBytes(config) -
      jsonBytes(tasks) -
      jsonBytes(evaluation) +
      phaseAndCounters +
      (crossPolicy.poolSize + carriedPins) * (version + 1) +
      crossPolicy.poolSize * (memberFields + version + figure) +
      2 * textBytes +
      waitingOrders * orderBytes +
      leftOutFields +
      2 * figure +
      shortTextBytes +
      carriedLeftOut * (placeFields + group),
  }
}

/** Groups that fail and roll-backs come on top of what the updates need. */
function digitsOf({ training, rollout }: StateSize): { readonly group: number; readonly version: number } {
  const digits = (most: number) => Math.max(5, String(most).length)
  return {
    group: digits(10 * training.updates * rollout.groupsPerUpdate),
    version: digits(10 * training.updates),
  }
}

function groupBytes(config: StateSize): number {
  const { groupsPerUpdate, maxStaleness, groupsInFlight } = config.rollout
  const { group, version } = digitsOf(config)
  const outstanding = (maxStaleness + 1) * groupsPerUpdate
  const inFlight = Math.min(outstanding, groupsInFlight ?? outstanding)
  return (
    inFlight * groupInFlightBytes(config) +
    (outstanding - inFlight) * (readyFields + group + version) +
    skippedBytes(config, groupsPerUpdate)
  )
}

/** Groups skipped for the update in progress, and for the next one. */
function skippedBytes(config: StateSize, groupsPerUpdate: number): number {
  const { refill } = config.rollout
  const { group, version } = digitsOf(config)
  return 2 * (skippedFields + version + mostSkipped({ groupsPerUpdate, refill }) * (group + 1))
}

function groupInFlightBytes(config: StateSize): number {
  const { group, version } = digitsOf(config)
  return groupFields + 2 * group + version + config.crossPolicy.poolSize * (version + 1)
}

/** Bytes of a state at most. */
export function largestState(config: StateSize): number {
  const { tasks, suites, groups, rest } = stateShares(config)
  return tasks + suites + groups + rest
}

/** Groups that may be outstanding beside everything else, were all of them in flight. */
export function mostOutstanding(config: StateSize): number {
  const left = mostStateBytes - largestState(config) + groupBytes(config)
  const { maxStaleness, refill } = config.rollout
  const { group } = digitsOf(config)
  const skipped = (2 * refill * (group + 1)) / (maxStaleness + 1)
  return Math.max(0, Math.floor((left - skippedBytes(config, 0)) / (groupInFlightBytes(config) + skipped)))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
