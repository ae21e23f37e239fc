/**
 * The world of a generated problem: files, folders and processes, before the agent and after it.
 *
 * Invariants
 * - A world is plain data: it survives the journey to another thread, and is never changed.
 */

/** A file of a world. Modes are the twelve lower bits of `st_mode`. */
export interface WorldFile {
  readonly path: string
  readonly content: string
  /** 0o644 by default. */
  readonly mode?: number
}

/** A running process. */
export interface WorldProcess {
  readonly pid: number
  readonly user: string
  /** Per cent of a core. */
  readonly cpu: number
  /** Per cent of the memory. */
  readonly memory: number
  /** The command line, the program's name first. */
  readonly command: string
}

/** The contents of a machine. */
export interface World {
  readonly files: readonly WorldFile[]
  /** Folders beside those that files are in. */
  readonly folders: readonly string[]
  readonly processes: readonly WorldProcess[]
}

/** A path as it was found; links are listed and never followed. */
export type FoundEntry =
  | { readonly kind: 'file'; readonly mode: number; readonly content: string }
  | { readonly kind: 'folder'; readonly mode: number }
  | { readonly kind: 'link'; readonly target: string }

/** A machine as it was found. */
export interface Snapshot {
  readonly entries: ReadonlyMap<string, FoundEntry>
  readonly processes: readonly WorldProcess[]
}

/** Where the agent's shell starts. */
export const home = '/home/user'

/** The mode of a file that names no other. */
export const defaultMode = 0o644
