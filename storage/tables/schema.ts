/**
 * Tables of the store, as Kysely sees them.
 *
 * Invariants
 * - Every primary key is an identity of `identity/identity.ts` (and a turn or a step), or a lease's: writing twice
 *   meets itself.
 * - Times are milliseconds since the epoch; JSON columns are text; tokens and logprobs are little-endian
 *   32-bit blobs.
 */
import type { Generated } from 'kysely'

export interface RunsTable {
  id: string
  status: string
  /** JSON. */
  config: string
  detail: string | null
  /** The published policy version. */
  version: number | null
  /** JSON. */
  state: string | null
  created: number
  ended: number | null
}

export interface GroupsTable {
  id: string
  run: string
  number: number
  task: string
  instance: string
  version: number
  status: string
  /** JSON [group]: episode ids, rewards. */
  episodes: string | null
  rewards: string | null
  oldest_version: number | null
  consumed_by: number | null
  created: number
  ended: number | null
}

export interface EpisodesTable {
  id: string
  run: string
  parent: string
  sample: number
  attempt: number
  task: string
  instance: string
  /** This column and the following ones are null until the episode is sealed. */
  outcome: string | null
  reward: number | null
  turns: number | null
  observations: number | null
  tokens: number | null
  action_tokens: number | null
  problems: number | null
  version_min: number | null
  version_max: number | null
  checksum: string | null
  created: number
  ended: number | null
  /** Bytes of its observations and actions. */
  bytes: number | null
  /** When its observations and actions were deleted. */
  released: number | null
  /** 1 where it is a success, else 0. */
  success: number | null
  /** JSON: the metrics of its environment by name; null where it declares none. */
  metrics: string | null
}

export interface ObservationsTable {
  episode: string
  turn: number
  messages: string
  reward: number
  done: number
  outcome: string | null
  info: string
  /** JSON, where the tools differ from the turn before. */
  tools: string | null
  /** Time of the environment's step, and the attempt that wrote it; null where unknown. */
  seconds: number | null
  attempt: number | null
}

export interface ActionsTable {
  episode: string
  turn: number
  prompt: Uint8Array
  tokens: Uint8Array
  logprobs: Uint8Array
  version: number
  finish: string
  message: string
  problems: string
  /** Time of the sampling, and the attempt that wrote it; null where unknown. */
  seconds: number | null
  attempt: number | null
  /** JSON: versions and how many tokens each sampled, in their order; null where `version` sampled all. */
  spans: string | null
  /** This column and the following ones are null except in episodes of an agent's own program. */
  branch: number | null
  /** The turn after which its prompt comes; −1 for none. */
  follows: number | null
  /** Path of the API that it was asked by, a digest of the request, and the body that answered it. */
  form: string | null
  request: string | null
  answer: string | null
}

/** Answers of models to questions of the environment. */
export interface AnswersTable {
  episode: string
  turn: number
  role: string
  number: number
  hash: string
  /** JSON. */
  messages: string
  source: string
  model: string
  text: string
  prompt_tokens: number | null
  completion_tokens: number | null
  cost: number
  seconds: number
  created: number
}

/** Tries of a question that gave no answer. */
export interface AnswerFaultsTable {
  episode: string
  turn: number
  role: string
  number: number
  try: number
  kind: string
  reason: string
  prompt_tokens: number | null
  completion_tokens: number | null
  cost: number
  seconds: number
  created: number
}

export interface UpdatesTable {
  run: string
  step: number
  version: number
  statistics: string
  groups: string
  created: number
}

export interface LearntTable {
  run: string
  step: number
  /** JSON: the episodes that the update learnt from. */
  episodes: string
}

export interface EvaluationsTable {
  id: string
  run: string
  suite: string
  version: number
  seed: number
  /** Share of the n episodes that ended with a reward; null until there is a result, as are the next five. */
  success: number | null
  n: number | null
  /** Episodes that were to be played. */
  planned: number | null
  /** JSON by outcome: episodes without a reward. */
  lost: string | null
  episodes: string | null
  statistics: string | null
  created: number
  /** Null while it is played, also for the second time. */
  ended: number | null
  failure: string | null
}

export interface MetricsTable {
  run: string
  /** Identifies the line within its run. */
  key: string
  /** The order of the lines: by these three. */
  version: number
  rank: number
  number: number
  /** JSON. */
  line: string
}

export interface AuditTable {
  run: string
  number: number
  time: number
  ordered_by: string
  what: string
  /** JSON, as is the next. */
  from_value: string
  to_value: string
  version: number
  effect_version: number | null
  reason: string | null
}

export interface LeasesTable {
  id: string
  kind: string
  owner: string
  expires: number
}

export interface ExperimentsTable {
  id: string
  /** JSON. */
  statement: string
  created: number
  ended: number | null
}

/** CPU time that processes have spent on a run. */
export interface RunCostsTable {
  run: string
  cpu_seconds: number
}

/** CPU time that a run had cost when a version was published. */
export interface PublishedVersionsTable {
  run: string
  version: number
  at: number
  cpu_seconds: number
}

/** One row: the name of this store among those who lease from the same backends. */
export interface LeaseScopeTable {
  scope: string
}

export interface ExpertsTable {
  run: string
  suite: string
  success: number
  n: number
}

export interface FailingWorkTable {
  run: string
  /** The kind of work. */
  work: string
  reason: string
  attempt: number
  time: number
}

export interface NoncesTable {
  /** In the order in which they were added. */
  number: Generated<number>
  nonce: string
  created: number
}

export interface Schema {
  runs: RunsTable
  groups: GroupsTable
  episodes: EpisodesTable
  observations: ObservationsTable
  actions: ActionsTable
  answers: AnswersTable
  answer_faults: AnswerFaultsTable
  updates: UpdatesTable
  learnt: LearntTable
  evaluations: EvaluationsTable
  metrics: MetricsTable
  audit: AuditTable
  leases: LeasesTable
  experiments: ExperimentsTable
  run_costs: RunCostsTable
  published_versions: PublishedVersionsTable
  experts: ExpertsTable
  failing_work: FailingWorkTable
  lease_scope: LeaseScopeTable
  nonces: NoncesTable
}
