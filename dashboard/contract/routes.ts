/**
 * Routes: where the page asks the server, and the one table of what it is answered with.
 *
 * The contract between the server of `perdure ui` and its page is this folder: types, addresses, and the language of
 * filters. Both sides import it, so it runs in a browser too.
 *
 * How the two meet
 * - The page is static files: `index.html`, one classic script and one style sheet, no module scripts and nothing inline,
 *   so that the same files open from a folder without a server. They lie in `dashboard/page/dist/` beside the server's
 *   code, in a checkout and in the package (`dist/dashboard/page/dist/`) alike. `index.html` names them by relative paths.
 * - The page's own addresses are fragments (`addresses.ts`), so that links work in the folder of a report too.
 * - A report is the same page: a `<script type="application/json" id="perdure-report">` holds a `Report`
 *   (`Report`), whose answers are filed under the very routes below. Where the element is there, nothing is fetched.
 *
 * Invariants
 * - [ROUTES-1] Every route is a function here, and its answer a line of `Answers`; a route with parameters has them
 *   encoded, in a fixed order, so that equal questions are equal texts.
 * - Answers are plain JSON. Times are milliseconds since the epoch, shares are in [0, 1], bytes are bytes.
 * - An unknown value is null where it is part of a row, and absent where it is a field of its own.
 * - Text of environments and policies is text: it is never markup, and arrives as it is stored.
 * - An answer that is not 2xx is a `Refusal`.
 */

import type { ComparisonAnswer, PolicyName } from './comparison.ts'
import type { RunCurves } from './curves.ts'
import type { EpisodeQuery, EpisodesAnswer } from './episodes.ts'
import type { EvaluationsAnswer } from './evaluation.ts'
import type { ExperimentAnswer, ExperimentsAnswer } from './experiment.ts'
import type { GroupAnswer } from './group.ts'
import type { HomeFacts } from './home.ts'
import type { OrderTaken, RunAnswer, RunsAnswer } from './run.ts'
import type { BranchesAnswer, BranchStarted, TrajectoryAnswer } from './trajectory.ts'

/** The answer of each kind of route. */
export interface Answers {
  readonly home: HomeFacts
  readonly runs: RunsAnswer
  readonly run: RunAnswer
  readonly curves: RunCurves
  readonly evaluations: EvaluationsAnswer
  readonly comparison: ComparisonAnswer
  readonly experiments: ExperimentsAnswer
  readonly experiment: ExperimentAnswer
  readonly episodes: EpisodesAnswer
  readonly group: GroupAnswer
  readonly trajectory: TrajectoryAnswer
  readonly branches: BranchesAnswer
  /** Posted: a `BranchWish` (`branch.ts`). */
  readonly branch: BranchStarted
  /** Posted: an `Order` (`order.ts`). */
  readonly order: OrderTaken
}

/** A route of a kind: a path with its query, relative to the page. */
export type Route<Kind extends keyof Answers> = string & { readonly answers?: Answers[Kind] }

const root = 'api'

/** A report: answers of the routes in one document, for the page without a server. */

export interface Report {
  readonly made: number
  /** The run that it is about. */
  readonly run: string
  /** By route, as `routes.ts` writes them; what is not here is not part of the report. */
  readonly answers: Readonly<Record<string, unknown>>
}

/** Why a route did not answer. */

export interface Refusal {
  readonly error: {
    readonly kind: RefusalKind
    /** The error and the remedy, for a person. */
    readonly message: string
  }
}

export type RefusalKind =
  | 'unknown'
  /** The question is wrong: a parameter, a body. */
  | 'bad_request'
  /** The body is larger than any order. */
  | 'too_large'
  /** Another host, another site, no token; or orders where the page may not steer. */
  | 'forbidden'
  /** The run heard an order that it cannot follow; the message has its words. */
  | 'refused'
  /** The server fails: the store cannot be read, or no Temporal server answers. */
  | 'unavailable'

/** The facts of the home, and the page's permissions. */
export function homeRoute(): Route<'home'> {
  return `${root}/home`
}

/** All runs, the latest first. */
export function runsRoute(): Route<'runs'> {
  return `${root}/runs`
}

export function runRoute(run: string): Route<'run'> {
  return `${root}/runs/${encodeURIComponent(run)}`
}

/** The figures of a run's updates. @param after only of updates beyond this step; all for 0 */
export function curvesRoute(run: string, after = 0): Route<'curves'> {
  return `${runRoute(run)}/curves${queryOf({ after: after === 0 ? undefined : after })}`
}

export function evaluationsRoute(run: string): Route<'evaluations'> {
  return `${runRoute(run)}/evaluations`
}

/** Policies beside one another, the first one as the reference. @param policies 2 to 10 */
export function comparisonRoute(policies: readonly PolicyName[]): Route<'comparison'> {
  const names = policies.map(({ run, version }) => (version === undefined ? run : `${run}@${version}`))
  return `${root}/comparison${queryOf({ of: names.join(',') })}`
}

/** All experiments, the latest first. */
export function experimentsRoute(): Route<'experiments'> {
  return `${root}/experiments`
}

export function experimentRoute(experiment: string): Route<'experiment'> {
  return `${experimentsRoute()}/${encodeURIComponent(experiment)}`
}

/** A stretch of the table of episodes. */
export function episodesRoute({
  filter = '',
  sort = 'created',
  descending = true,
  offset = 0,
  limit = 100,
  mark,
}: EpisodeQuery): Route<'episodes'> {
  const order = `${descending ? '-' : ''}${sort}`
  return `${root}/episodes${queryOf({ filter: filter === '' ? undefined : filter, sort: order, offset, limit, mark })}`
}

/** The samples of a group, an evaluation or a branch. @param parent its id, e.g. `first/g12` */
export function groupRoute(parent: string): Route<'group'> {
  return `${root}/groups/${encodeURIComponent(parent)}`
}

/** @param episode its id, e.g. `first/g12/s3/a0` */
export function trajectoryRoute(episode: string): Route<'trajectory'> {
  return `${root}/episodes/${encodeURIComponent(episode)}`
}

/** The branches from the turns of an episode. */
export function branchesRoute(episode: string): Route<'branches'> {
  return `${trajectoryRoute(episode)}/branches`
}

/** Where a branch is asked for. */
export function branchRoute(episode: string): Route<'branch'> {
  return `${trajectoryRoute(episode)}/branches`
}

/** Where an order to a run is given. */
export function orderRoute(run: string): Route<'order'> {
  return `${runRoute(run)}/orders`
}

/** The stream of server-sent events (`live.ts`). @param run only of this one; all where absent */
export function liveRoute(run?: string): string {
  return `${root}/live${queryOf({ run })}`
}

function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Id of the element that holds it, as `application/json`. */
export const reportElement = 'perdure-report'
