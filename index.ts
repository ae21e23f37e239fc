/**
 * Perdure for programs: custom environments, engines, trainers and algorithms, and runs to start, watch and steer.
 *
 * Invariants
 * - Importing it is cheap: workers, engines and the server's client are loaded by what starts them.
 */

export { z } from 'zod'
export { SessionFault } from './client/run/session-fault.ts'
export type {
  EvaluationOptions,
  EvaluationSummary,
  RunPhase,
  RunProgress,
  SettingsChange,
} from './client/session/training-session.ts'
export type { Training, TrainingOptions } from './client/training.ts'
export { resume, train } from './client/training.ts'
export type { ConfigProblem } from './config/files/fault.ts'
export { ConfigFault } from './config/files/fault.ts'
export { loadConfig, resolveConfig } from './config/files/loader.ts'
export type { ConfigInput, RunConfig } from './config/schema/schema.ts'
export type { ForeignEnvironment } from './envs/bridges/foreign-environment.ts'
export { foreignEnvironment } from './envs/bridges/foreign-environment.ts'
export { builtInEnvironment } from './envs/built-in-environment.ts'
export type * from './envs/contract/environment.ts'
export { EnvironmentFault } from './envs/contract/environment.ts'
export type { Ask, AskedRole, Question, QuestionMessage } from './envs/contract/question.ts'
export { AskedModelFault, answeredBy } from './envs/contract/question.ts'
export { defineEnvironment, win } from './envs/external/define.ts'
export type {
  Calls,
  DefinedEnvironment,
  DefinedSplits,
  DefinedTool,
  EpisodeStart,
  FirstWords,
  InstanceRandom,
  SplitSource,
  ToolAnswer,
  ToolMaker,
} from './envs/external/definition.ts'
export type {
  McpAddress,
  McpCall,
  McpEnvironment,
  McpEpisode,
  McpEpisodeStart,
  McpGrade,
  McpProgram,
} from './envs/mcp/mcp-definition.ts'
export { mcpEnvironment } from './envs/mcp/mcp-environment.ts'
export type * from './learning/algorithms/algorithm.ts'
export { algorithms } from './learning/algorithms/algorithms.ts'
export type { VersionSpan } from './learning/run/version-spans.ts'
export type * from './messages/message.ts'
export type * from './policy/engines/engine.ts'
export { EngineFault } from './policy/engines/engine.ts'
export type {
  LogprobsRequest,
  LossChoice,
  ObjectiveSettings,
  OptimizerSettings,
  OwnTrainer,
  Trainer,
  TrainerDefinition,
  TrainerOptions,
  UpdateRequest,
  UpdateStatistics,
  ValuesRequest,
  WarmStartRequest,
  WarmStartStatistics,
} from './policy/trainer/trainer.ts'
export { TrainerFault } from './policy/trainer/trainer.ts'
export type { EvaluationMetrics, MetricsLine, UpdateMetrics } from './storage/metrics/metrics.ts'
export { isUpdateMetrics } from './storage/metrics/metrics.ts'
