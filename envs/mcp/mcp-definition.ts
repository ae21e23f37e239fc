/**
 * An environment whose tools are those of an MCP server: what its author writes.
 *
 * Invariants
 * - Types alone: reading them loads nothing.
 */
import type { z } from 'zod'
import type { JsonObject } from '../../messages/message.ts'
import type { Ask } from '../contract/question.ts'
import type { DefinedFacts, DefinedInstances, EpisodeStart, FirstWords } from '../external/definition.ts'
import type { EpisodeFolder, FolderView } from './episode-folder.ts'

/** A server that is started for each episode, and spoken to on its standard input and output. */
export interface McpProgram {
  readonly command: string
  /** Relative paths are those of the episode's folder, in which it works. */
  readonly args?: readonly string[]
  /** Variables beside PATH and HOME, which is the folder; `${NAME}` is a secret of this machine. */
  readonly env?: Readonly<Record<string, string>>
}

/** A server that is there, spoken to over streamable HTTP; each episode is a session. */
export interface McpAddress {
  /** `${NAME}` is a secret of this machine. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A call of an episode. */
export interface McpCall {
  /** The tool, by the server's name. */
  readonly tool: string
  readonly arguments: JsonObject
  /** As the agent reads it. */
  readonly reply: string
  readonly isError: boolean
}

/** An episode that has ended, as its grader sees it. The process of its server has ended before. */
export interface McpEpisode<State> {
  /** The object that `start` returned. */
  readonly state: State
  /** The words of the last message. */
  readonly answer: string
  readonly calls: readonly McpCall[]
  /** The server's folder; nothing is in it where the server has an address. */
  readonly files: FolderView
  readonly ask: Ask
}

/** The reward, or the reward with facts for readers of a replay. */
export type McpGrade = number | { readonly reward: number; readonly info?: JsonObject }

/** The circumstances in which an episode starts. */
export interface McpEpisodeStart<Item, Settings> extends EpisodeStart<Item, Settings> {
  /** The server's folder, which is empty. */
  readonly files: EpisodeFolder
}

/** An environment of an MCP server. */
export interface McpEnvironment<State extends FirstWords, Item, Settings extends z.ZodObject>
  extends DefinedFacts,
    DefinedInstances<Item, Settings> {
  readonly server: McpProgram | McpAddress
  /** The server's tools that the agent has, by its names, or by others: `{ read: 'read_text_file' }`. All of them by default. */
  readonly tools?: readonly string[] | Readonly<Record<string, string>>
  /** Whether playing the recorded actions again reaches the same state; no by default, since nothing else knows it of a server. */
  readonly replayable?: boolean
  /** Seconds that a server may take to start, and its tools to be listed; 60 by default. */
  readonly startSeconds?: number
  /** Seconds that a call may take; 60 by default. */
  readonly callSeconds?: number
  /** Programs that are started before an episode needs them; 2 by default. */
  readonly startedAhead?: number
  start(begin: McpEpisodeStart<Item, z.output<Settings>>): State | Promise<State>
  /** Pays for an episode that the agent has ended, by a message without a call. */
  grade(episode: McpEpisode<State>): McpGrade | Promise<McpGrade>
  /** Plays an instance as a good agent would, for the warm start: yields calls, or the last words, and is given the replies. */
  expert?(state: State): Iterator<Readonly<Record<string, JsonObject | undefined>> | string, void, string>
}
