/**
 * A report: a folder with the page of one run, its answers inside, that opens without a server.
 *
 * Invariants
 * - [RUN-REPORT-1] Nothing that was said in an episode ends the element that holds it: it is JSON without `<`.
 * - [RUN-REPORT-2] The answers are those of the server, under its routes; what is not in it is said by the page to be missing.
 * - [RUN-REPORT-3] Folders of this machine are no part of it: the home's is written `home:`, the user's `~:`.
 * - The folder appears whole: it is written beside its place and renamed. An existing folder is not replaced.
 * - [REPORT-FIGURES-1] Their data are in the answers of the report: nothing is computed from episodes here.
 */
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type CurvePoint, expertName, type ReportedCurve } from '../client/experiment/experiment-report.ts'
import { learningCurve } from '../client/experiment/learning-curve.ts'
import { isComplete } from '../learning/evaluation/evaluation-completeness.ts'
import { makeFolder } from '../machine/files/folder.ts'
import { StorageFault, storageFaultOf } from '../storage/disk/fault.ts'
import { asCsv, metricsKinds, metricsTable } from '../storage/metrics/metrics-table.ts'
import { type Answerer, createAnswerer } from './answerer.ts'
import type { RunCurves } from './contract/curves.ts'
import { type DrawnMeasure, drawnMeasures } from './contract/drawn-measures.ts'
import type { EvaluationRow, EvaluationsAnswer } from './contract/evaluation.ts'
import type { HomeFacts } from './contract/home.ts'
import {
  branchesRoute,
  curvesRoute,
  evaluationsRoute,
  groupRoute,
  homeRoute,
  type Report,
  reportElement,
  runRoute,
  runsRoute,
  trajectoryRoute,
} from './contract/routes.ts'
import { openShownHome, type ShownHome } from './home/shown-home.ts'

export interface ReportWish {
  readonly home: string
  readonly run: string
  /** The folder to write; it must not exist. */
  readonly out: string
  /** The folder of the page's files. */
  readonly page: string
  /** Groups whose episodes are shown: the latest that an update learnt from. */
  readonly groups: number
  /** More episodes that are shown, by their ids: of evaluations and branches, too. */
  readonly episodes?: readonly string[]
  readonly release: string
}

export interface ReportFacts {
  /** The file that a browser opens. */
  readonly file: string
  readonly groups: number
  readonly episodes: number
}

/** A file of a report. */
export interface Figure {
  readonly name: string
  readonly svg: string
}

/** @throws Refused `unknown` run or episode; StorageFault the folder is there, or cannot be written */
export async function writeReport(wish: ReportWish): Promise<ReportFacts> {
  const out = resolve(wish.out)
  if (existsSync(out))
    throw new StorageFault('conflict', `${out} exists already: name another folder with --out`)
  await using shown = await openShownHome(wish.home)
  const answers = createAnswerer(shown)
  const evaluations = await answers.evaluations(wish.run)
  const curves = await answers.curves(wish.run, 0)
  const report = await reportOf(shown, answers, wish, {
    [curvesRoute(wish.run)]: curves,
    [evaluationsRoute(wish.run)]: evaluations,
  })
  const routes = Object.keys(report.answers)
  const beside = `${out}.${process.pid}.part`
  try {
    makeFolder(dirname(out))
    cpSync(wish.page, beside, { recursive: true })
    const file = join(beside, 'index.html')
    writeFileSync(file, withReport(readFileSync(file, 'utf8'), report))
    const lines = await shown.store.metrics.list(report.run as never)
    for (const kind of metricsKinds)
      writeFileSync(join(beside, `${kind}.csv`), asCsv(metricsTable(lines, kind)))
    for (const { name, svg } of figuresOf(wish.run, evaluations, curves))
      writeFileSync(join(beside, name), svg)
    renameSync(beside, out)
  } catch (error) {
    rmSync(beside, { recursive: true, force: true })
    throw storageFaultOf(error, `report ${out}`)
  }
  return {
    file: join(out, 'index.html'),
    groups: routes.filter((route) => route.startsWith('api/groups/')).length,
    episodes: routes.filter((route) => /^api\/episodes\/[^/]+$/.test(route)).length,
  }
}

/** @param figures answers that are drawn as well */
async function reportOf(
  shown: ShownHome,
  answers: Answerer,
  wish: ReportWish,
  figures: Readonly<Record<string, unknown>>,
): Promise<Report> {
  const { run } = wish
  const own = await answers.run(run)
  const { runs } = await answers.runs()
  const found: Record<string, unknown> = {
    [homeRoute()]: homeFacts(wish),
    [runsRoute()]: { runs: runs.filter((row) => row.run === run) },
    [runRoute(run)]: own,
    ...figures,
  }
  const episodes = [...(wish.episodes ?? [])]
  for (const parent of await latestGroups(shown, wish)) {
    const group = await answers.group(parent)
    found[groupRoute(parent)] = group
    episodes.push(...group.samples.map(({ episode }) => episode))
  }
  for (const episode of episodes) {
    found[trajectoryRoute(episode)] = await answers.trajectory(episode)
    found[branchesRoute(episode)] = { branches: [], asked: [] }
  }
  const answered = Object.entries(found).map(([route, answer]) => [
    route,
    // Text of an episode stays as it was: there `/root` may be a folder of its environment.
    withoutFolders(answer, isSaid(route) ? [resolve(wish.home)] : [resolve(wish.home), homedir()]),
  ])
  return { made: Date.now(), run, answers: Object.fromEntries(answered) }
}

function isSaid(route: string): boolean {
  return route.startsWith('api/groups/') || route.startsWith('api/episodes/')
}

/** The answer with the home's folder as `home:`, and the user's as `~:`, in each of its texts. */
export function withoutFolders(answer: unknown, [home = '', user]: readonly string[]): unknown {
  const text = JSON.stringify(answer, (_, value: unknown) => {
    if (typeof value !== 'string') return value
    const bare = without(value, home, 'home:')
    return user === undefined ? bare : without(bare, user, '~:')
  })
  return text === undefined ? undefined : JSON.parse(text)
}

/** A name that only begins like the folder's is another folder. */
function without(text: string, folder: string, sign: string): string {
  if (folder.length < 2) return text
  const escaped = folder.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return text.replaceAll(new RegExp(`${escaped}(?![\\w.-])`, 'g'), () => sign)
}

/** Folders of this machine are no part of it. */
function homeFacts({ release }: ReportWish): HomeFacts {
  return {
    home: '',
    release,
    typed: { name: 'npx perdure', homeFlag: '' },
    temporal: null,
    canSteer: false,
    disk: { free: 0, total: 0 },
    search: { indexed: 0, episodes: 0 },
  }
}

/** Consumed groups of different rewards, the latest first. */
async function latestGroups({ store }: ShownHome, { run, groups }: ReportWish): Promise<readonly string[]> {
  const consumed = await store.groups.list(run as never, { consumed: true })
  return consumed
    .filter(({ result }) => new Set(result?.rewards).size > 1)
    .map(({ id }) => id)
    .toReversed()
    .slice(0, groups)
}

/** The document with the report in it, before its script. */
export function withReport(html: string, report: Report): string {
  const json = JSON.stringify(report).replaceAll('<', '\\u003c')
  const element = `<script type="application/json" id="${reportElement}">${json}</script>`
  return html.replace('</head>', () => `${element}\n</head>`)
}

/** Success and further measures on each suite, beside the expert, and in training by task; both over versions. */
export function figuresOf(run: string, evaluations: EvaluationsAnswer, curves: RunCurves): readonly Figure[] {
  const suites = [...new Set(evaluations.evaluations.map(({ suite }) => suite))]
  const drawn = suites.flatMap((suite) => {
    const found = foundOn(suite, evaluations)
    return drawnMeasures(found.map((row) => row.found)).map((measure) => ({
      name: `${measure.of}-${suite}.svg`,
      title: `${run}: ${measure.titleOn(suite)}`,
      isShare: measure.isShare,
      lines: suiteLines(suite, { found, measure, experts: evaluations.experts }),
    }))
  })
  const training = {
    isShare: true,
    name: 'success-in-training.svg',
    title: `${run}: success in training`,
    lines: trainingLines(curves),
  }
  return [...drawn, training].flatMap(({ name, title, isShare, lines }) =>
    lines.length === 0 ? [] : [{ name, svg: learningCurve(lines, title, isShare) }],
  )
}

interface FoundRow {
  readonly version: number
  readonly found: Required<EvaluationRow>['found']
}

/** Complete results on a suite, by version. */
function foundOn(
  suite: string,
  { evaluations }: Pick<EvaluationsAnswer, 'evaluations'>,
): readonly FoundRow[] {
  return evaluations
    .flatMap(({ version, found, ...row }) =>
      row.suite === suite && found !== undefined && isComplete(found) ? [{ version, found }] : [],
    )
    .toSorted((a, b) => a.version - b.version)
}

function suiteLines(
  suite: string,
  {
    found,
    measure,
    experts,
  }: Pick<EvaluationsAnswer, 'experts'> & {
    readonly found: readonly FoundRow[]
    readonly measure: DrawnMeasure
  },
): readonly ReportedCurve[] {
  const points = found.flatMap(({ version, ...row }) => {
    const estimate = measure.pick(row.found)
    return estimate === undefined ? [] : [pointOf(version, estimate)]
  })
  if (points.length === 0) return []
  // Experts are measured by success alone.
  const expert = measure.of === 'success' ? experts.find((row) => row.suite === suite) : undefined
  // One point is no line.
  const level = expert && points.map(({ version }) => pointOf(version, expert.success))
  return [
    { arm: 'policy', suite, points },
    ...(level === undefined ? [] : [{ arm: expertName, suite, points: level }]),
  ]
}

function trainingLines({ version, tasks }: Pick<RunCurves, 'version' | 'tasks'>): readonly ReportedCurve[] {
  return Object.entries(tasks).flatMap(([task, { success, success_low, success_high }]) => {
    const points = success.flatMap((value, at) =>
      value === null
        ? []
        : [
            pointOf(version[at] ?? 0, {
              value,
              low: success_low[at] ?? value,
              high: success_high[at] ?? value,
            }),
          ],
    )
    return points.length === 0 ? [] : [{ arm: task, suite: 'training', points }]
  })
}

function pointOf(
  version: number,
  { value, low, high }: { readonly value: number; readonly low: number; readonly high: number },
): CurvePoint {
  return { version, mean: value, low, high, seeds: 1 }
}
