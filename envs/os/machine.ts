/**
 * A machine that an agent works on, and the assignment it is given there, whatever the machine is made of.
 *
 * Invariants
 * - The result of a script, however hostile, is an answer; a failure of the machine's makers is a fault.
 * - Grading decides on what the agent submitted and on the machine as the grader sees it from outside.
 */

/** The result of a script. */
export interface ScriptResult {
  /** Everything the script printed, as a terminal shows it: standard output and error together. */
  readonly output: string
  /** As bash has it: 124 where it ran out of time, 126 or 127 where it could not be run. */
  readonly exitCode: number
}

/** The end of an episode: an answer, or the word that the work is done. */
export type Submission =
  | { readonly kind: 'answer'; readonly answer: string }
  | { readonly kind: 'finish'; readonly thought: string }

/** One machine, for one episode; calls go strictly in sequence. */
export interface Machine {
  /** Runs a bash script; folder and variables carry over from script to script. @throws EnvironmentFault */
  run(script: string): Promise<ScriptResult>
  /** Whether the assignment is fulfilled. @throws EnvironmentFault where it could not be found out */
  grade(submission: Submission): Promise<boolean>
  /** May be called twice. */
  close(): Promise<void>
}

/** The request to the agent, and the machine for it. */
export interface Assignment {
  readonly description: string
  /** The kind of problem, for reports by kind. */
  readonly kind?: string | undefined
  /** A new machine, made ready. @throws EnvironmentFault */
  open(): Promise<Machine>
}
