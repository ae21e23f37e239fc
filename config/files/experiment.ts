/**
 * Experiments as files state them: arms, seeds, what is measured, and claims, before any of it runs.
 *
 * Invariants
 * - A returned experiment has passed the schema; every arm is a valid configuration, and every claim can be measured.
 * - A problem names the file and the line, and of an arm's configuration the arm.
 * - [STATED-1] Arms are compared only on suites that are the same in both: task, split, episodes, samples, temperature.
 * - Paths in the file start at its folder.
 */
import { createHash } from 'node:crypto'
import { basename, dirname, resolve } from 'node:path'
import type { z } from 'zod'
import {
  type ClaimedDifference,
  detectableWords,
  isDetectable,
  type TestKind,
} from '../../learning/claims/hypothesis.ts'
import type { LookDesign } from '../../learning/claims/sequential.ts'
import { smallestSignFlip } from '../../learning/claims/sign-flip.ts'
import { statedMeasure } from '../../learning/evaluation/measure.ts'
import type { Budget } from '../../learning/run/budget.ts'
import { shownValue } from '../../learning/run/wrong-value.ts'
import {
  type ExperimentFile,
  experimentSchema,
  type MeasuredPolicy,
  type MeasuredVersion,
  measuredPolicy,
} from '../schema/experiment-schema.ts'
import type { RunConfig } from '../schema/schema.ts'
import { ConfigFault, type ConfigProblem, meantInstead } from './fault.ts'
import { armsWithPoints, gridFaults } from './grid.ts'
import { loadConfig } from './loader.ts'
import { endlessness } from './tree.ts'
import { placeIn, readYamlFile, type YamlFile } from './yaml-file.ts'

/** Values by the keys of a configuration, as a file sets them. */
export type SetValues = ExperimentFile['set']

/** A file that took part in the statement. */
export interface StatedFile {
  /** Without its folder. */
  readonly file: string
  readonly sha256: string
}

export interface ExperimentArm {
  readonly arm: string
  /** Beside what all arms set. */
  readonly set: SetValues
  /** With the first seed. */
  readonly config: RunConfig
  /** The arm whose grid it is a point of: its seeds are the tuning seeds. */
  readonly pointOf?: string
}

export interface Hypothesis extends ClaimedDifference {
  readonly name: string
  readonly better: MeasuredPolicy
  readonly than: MeasuredPolicy
  /** The budget within which the policies are compared. */
  readonly at?: Budget
  /** The true difference that is planned for. */
  readonly detect?: number
  /** Suites of which the mean counts. */
  readonly on: readonly string[]
}

/** All that an experiment states before it runs; plain JSON. */
export interface ExperimentStatement {
  readonly name: string
  readonly question?: string
  readonly source: StatedFile
  readonly base?: StatedFile
  readonly set: SetValues
  readonly arms: readonly ExperimentArm[]
  readonly seeds: readonly number[]
  /** How arms with points are chosen. */
  readonly tune?: { readonly seeds: readonly number[] }
  readonly suites: readonly string[]
  readonly version: MeasuredVersion
  /** Absent: success. */
  readonly measure?: string
  readonly hypotheses: readonly Hypothesis[]
  readonly test: TestKind
  /** Looks at the first of the seeds; absent: one look, at all. */
  readonly design?: LookDesign
  readonly level: number
}

/** A statement that was read, with what a person should know of it before it runs. */
export interface LoadedExperiment {
  readonly statement: ExperimentStatement
  readonly notices: readonly string[]
  /** The pilot: its name, or a report by its path. */
  readonly pilot: { readonly name: string } | { readonly report: string }
}

/**
 * Reads an experiment.
 * @param tasks names of the tasks that need no `from`
 * @throws ConfigFault with the problems that were found
 * @example loadExperiment('examples/experiments/smoke.yaml').statement.arms.map(({ arm }) => arm)
 */
export function loadExperiment(file: string, tasks?: readonly string[]): LoadedExperiment {
  const read = readYamlFile(file)
  const given = checked(read)
  const folder = dirname(file)
  const basePath = given.base === undefined ? undefined : resolve(folder, given.base)
  const seed = given.seeds[0] ?? 1
  const arms = armsWithPoints(given.arms).map(({ arm, set, ...point }): ExperimentArm => {
    const all = { ...given.set, ...set }
    refuseSeeds(read, all, point.pointOf ?? arm)
    const texts = Object.entries({ ...all, seed }).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    try {
      const config = loadConfig({
        file: basePath,
        set: texts,
        setFolder: folder,
        ...(tasks === undefined ? {} : { tasks }),
      })
      return { arm, set, config, ...point }
    } catch (error) {
      throw error instanceof ConfigFault ? inArm(read, point.pointOf ?? arm, error) : error
    }
  })
  const suites = given.measure.suites ?? commonSuites(arms)
  const { question, base: _, hypotheses, pilot = given.name, ...rest } = given
  const statement: ExperimentStatement = {
    name: rest.name,
    ...(question === undefined ? {} : { question }),
    source: stated(file, read.text),
    ...(basePath === undefined ? {} : { base: stated(basePath, readYamlFile(basePath).text) }),
    set: rest.set,
    arms,
    seeds: rest.seeds,
    ...(rest.tune === undefined ? {} : { tune: rest.tune }),
    suites,
    version: rest.measure.version,
    ...(rest.measure.of === 'success' ? {} : { measure: rest.measure.of }),
    hypotheses: hypotheses.map((claim) => hypothesisOf(claim, rest.measure.version, suites)),
    test: rest.test,
    ...(rest.design === undefined ? {} : { design: rest.design }),
    level: rest.level,
  }
  refuseUnmeasurable(read, statement, gridFaults(given))
  return {
    statement,
    notices: noticesOf(statement),
    pilot: pilot.endsWith('.json') ? { report: resolve(folder, pilot) } : { name: pilot },
  }
}

/** The digest of a text as `sha256sum` gives it of its file. */
function stated(file: string, text: string): StatedFile {
  return { file: basename(file), sha256: createHash('sha256').update(text).digest('hex') }
}

function checked(read: YamlFile): ExperimentFile {
  const endless = endlessness(read.value)
  if (endless !== undefined)
    throw fault(read, [{ path: endless.path, words: `${endless.wrong}: expected ${endless.allowed}` }])
  const result = experimentSchema.safeParse(withEmptyArms(read.value ?? {}), { reportInput: true })
  if (result.success) return result.data
  throw fault(read, result.error.issues.flatMap(issueWords))
}

/** An arm without a value sets nothing: it is the base. */
function withEmptyArms(value: unknown): unknown {
  const { arms } = value as { arms?: unknown }
  if (typeof arms !== 'object' || arms === null || Array.isArray(arms)) return value
  const filled = Object.entries(arms).map(([arm, set]) => [arm, set ?? {}])
  return { ...(value as object), arms: Object.fromEntries(filled) }
}

interface Wrong {
  readonly path: readonly PropertyKey[]
  /** The error at this place, worded to follow the key. */
  readonly words: string
}

function fault(read: YamlFile, wrongs: readonly Wrong[]): ConfigFault {
  return new ConfigFault(
    'bad_value',
    wrongs.map(({ path, words }): ConfigProblem => {
      const key = path.map(String).join('.')
      const where = placeIn(read, path)
      return { key, value: undefined, allowed: words, where, message: `${where}: \`${key}\` ${words}` }
    }),
  )
}

function issueWords(issue: z.core.$ZodIssue): readonly Wrong[] {
  const path = issue.path
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(path)
    return issue.keys.map((key) => ({
      path: [...path, key],
      words: `is no key here: expected one of ${known.join(', ')}${meantInstead(key, known)}`,
    }))
  }
  // A record tells of a wrong name by the issues of its key.
  const inner = issue.code === 'invalid_key' ? issue.issues[0] : undefined
  const allowed = inner?.message ?? (issue.code === 'invalid_type' ? issue.expected : issue.message)
  if (inner !== undefined) return [{ path, words: `is no name: expected ${allowed}` }]
  const shown = issue.input === undefined ? 'missing' : shownValue(issue.input)
  return [{ path, words: `is ${shown}: expected ${allowed}` }]
}

function knownKeys([section]: readonly PropertyKey[]): readonly string[] {
  const { shape } = experimentSchema
  if (section === 'tune') return Object.keys(shape.tune.unwrap().shape)
  if (section === 'design') return Object.keys(shape.design.unwrap().shape)
  if (section === 'measure') return Object.keys(shape.measure.unwrap().shape)
  if (section === 'hypotheses') return Object.keys(shape.hypotheses.unwrap().element.shape)
  return Object.keys(shape)
}

/** The seed is what the arms of a pair have in common. */
function refuseSeeds(read: YamlFile, set: SetValues, arm: string): void {
  if (!Object.hasOwn(set, 'seed')) return
  throw fault(read, [
    { path: ['arms', arm, 'seed'], words: 'cannot be set by an arm: `seeds` has the seeds' },
  ])
}

/** A fault of an arm's configuration, with the place in the experiment's file. */
function inArm(read: YamlFile, arm: string, error: ConfigFault): ConfigFault {
  return new ConfigFault(
    error.kind,
    error.problems.map((problem) => {
      const place = placeIn(read, ['arms', arm, problem.key])
      return { ...problem, message: `${place}: arm ${arm}: ${problem.message}` }
    }),
    { cause: error },
  )
}

/** Suites that every arm has, in the order of the first. */
function commonSuites(arms: readonly ExperimentArm[]): readonly string[] {
  const [first, ...others] = arms.map(({ config }) => config.evaluation.suites.map(({ name }) => name))
  return (first ?? []).filter((name) => others.every((suites) => suites.includes(name)))
}

function hypothesisOf(
  { name, better, than, by, equivalent, at, detect, on }: ExperimentFile['hypotheses'][number],
  usual: MeasuredVersion,
  suites: readonly string[],
): Hypothesis {
  return {
    name: name ?? `${better} ${equivalent === undefined ? 'over' : 'level with'} ${than}`,
    better: measuredPolicy(better, usual),
    than: measuredPolicy(than, usual),
    by,
    ...(equivalent === undefined ? {} : { within: equivalent.within }),
    ...(at === undefined ? {} : { at }),
    ...(detect === undefined ? {} : { detect }),
    on: on === undefined ? suites : typeof on === 'string' ? [on] : on,
  }
}

function refuseUnmeasurable(read: YamlFile, statement: ExperimentStatement, others: readonly Wrong[]): void {
  const { arms, suites, hypotheses, test, seeds, level } = statement
  const has = (arm: string, suite: string) => suiteOf(statement, arm, suite) !== undefined
  const wrongs: Wrong[] = [...others]
  if (suites.length === 0)
    wrongs.push({
      path: ['measure', 'suites'],
      words: 'is empty: expected a suite that every arm evaluates on',
    })
  for (const suite of suites)
    if (!arms.some(({ arm }) => has(arm, suite)))
      wrongs.push({ path: ['measure', 'suites'], words: `names ${suite}: expected a suite of an arm` })
  for (const [at, claim] of hypotheses.entries())
    wrongs.push(...unmeasurable(statement, claim, ['hypotheses', at]), ...untestable(statement, claim, at))
  wrongs.push(...wrongLooks(statement))
  const smallest = smallestSignFlip(seeds.length)
  if (test === 'sign_flip' && hypotheses.length > 0 && smallest > level)
    wrongs.push({
      path: ['test'],
      words: `is sign_flip: of ${seeds.length} seeds its smallest p is ${smallest}, above the level of ${level}: expected more seeds, or \`test: t\``,
    })
  if (wrongs.length > 0) throw fault(read, wrongs)
}

function wrongLooks({ design, seeds, hypotheses }: ExperimentStatement): readonly Wrong[] {
  if (design === undefined) return []
  const { looks } = design
  const wrong = (words: string) => [{ path: ['design', 'looks'], words }]
  if (hypotheses.length === 0) return wrong('judge claims, and there are none: expected `hypotheses`')
  if (looks.some((look, at) => look <= (looks[at - 1] ?? 0)) || looks.at(-1) !== seeds.length)
    return wrong(
      `are ${looks.join(', ')}: expected rising numbers of seeds, the last of them ${seeds.length}, as many as \`seeds\` has`,
    )
  return []
}

function unmeasurable(
  statement: ExperimentStatement,
  { better, than, on, at }: Hypothesis,
  path: readonly PropertyKey[],
): readonly Wrong[] {
  if (at !== undefined && [better, than].some(({ version }) => version === 'best'))
    return [
      { path: [...path, 'at'], words: 'is stated of a `best` version: expected a claim about the last one' },
    ]
  const names = statement.arms.filter(({ pointOf }) => pointOf === undefined).map(({ arm }) => arm)
  const unknown = (['better', 'than'] as const).flatMap((side) => {
    const { arm } = { better, than }[side]
    if (names.includes(arm)) return []
    const words = `is ${shownValue(arm)}: expected one of the arms ${names.join(', ')}${meantInstead(arm, names)}`
    return [{ path: [...path, side], words }]
  })
  if (unknown.length > 0) return unknown
  if (better.arm === than.arm && better.version === than.version)
    return [{ path: [...path, 'than'], words: `is the same policy as \`better\`: expected another` }]
  return on.flatMap((suite) => {
    if (!statement.suites.includes(suite))
      return [
        {
          path: [...path, 'on'],
          words: `names ${suite}: expected one of the measured suites ${statement.suites.join(', ')}`,
        },
      ]
    const [one, other] = [suiteOf(statement, better.arm, suite), suiteOf(statement, than.arm, suite)]
    if (one !== undefined && one === other) return []
    return [
      {
        path: [...path, 'on'],
        words: `names ${suite}, which is not the same in ${better.arm} and ${than.arm}: expected a suite with the same instances`,
      },
    ]
  })
}

/** Differences that no result could show. */
function untestable(
  { measure = 'success' }: ExperimentStatement,
  claim: Hypothesis,
  at: number,
): readonly Wrong[] {
  const { by, within, detect } = claim
  const path = ['hypotheses', at]
  const wrongs: Wrong[] = []
  if (within !== undefined && by !== 0)
    wrongs.push({ path: [...path, 'by'], words: 'is stated beside `equivalent`: expected one of the two' })
  const largest = Math.max(Math.abs(by), within ?? 0, Math.abs(detect ?? 0))
  if (statedMeasure(measure).isShare && largest >= 1)
    wrongs.push({
      path: [...path, within === undefined ? 'by' : 'equivalent'],
      words: `has a difference of ${largest}: expected a share below 1; 0.02 is 2 points of ${measure}`,
    })
  if (detect !== undefined && !isDetectable(claim, detect))
    wrongs.push({ path: [...path, 'detect'], words: `is ${detect}: expected ${detectableWords(claim)}` })
  return wrongs
}

/** The fields that two comparable suites share, as one text; undefined where the arm has no suite of that name. */
function suiteOf({ arms }: ExperimentStatement, arm: string, name: string): string | undefined {
  const suites = arms.find((each) => each.arm === arm)?.config.evaluation.suites
  const suite = suites?.find((each) => each.name === name)
  if (suite === undefined) return undefined
  const { task, split, episodes, samples, temperature } = suite
  return JSON.stringify({ task, split, episodes, samples, temperature })
}

function noticesOf({ seeds, hypotheses, version }: ExperimentStatement): readonly string[] {
  const chosen = hypotheses.some(({ better, than }) => [better, than].some((each) => each.version === 'best'))
  return [
    ...(hypotheses.length > 0 && seeds.length < 3
      ? [
          `${seeds.length === 1 ? 'one seed shows nothing' : 'two seeds show hardly anything'} of training: give three or more`,
        ]
      : []),
    ...(version === 'best' || chosen
      ? ['the best version is chosen by the episodes that measure it, so it looks better than it is']
      : []),
  ]
}
