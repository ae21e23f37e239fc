/**
 * Paths of a configuration that lie in the home directory: stored so that they hold wherever the home is copied to.
 *
 * Invariants
 * - Paths outside of the home stay as they are.
 * - Reading back in the same home gives what was stored; in a copy the same place of the copy.
 */
import { isAbsolute, join, relative, sep } from 'node:path'
import type { RunConfig } from '../schema/schema.ts'
import { mapTrackers } from './paths.ts'

/** Marks the home directory, whatever it is called. */
const mark = 'home:'

/** A configuration as it is stored. @param home absolute path */
export function withoutHome(config: RunConfig, home: string): RunConfig {
  return mapPaths(config, (path) => {
    if (!isAbsolute(path)) return path
    const inside = relative(home, path)
    const isInside = inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
    return isInside ? mark + inside.split(sep).join('/') : path
  })
}

/** A stored configuration, for this home. @param home absolute path */
export function inHome(config: RunConfig, home: string): RunConfig {
  return mapPaths(config, (path) => (path.startsWith(mark) ? join(home, path.slice(mark.length)) : path))
}

function mapPaths(config: RunConfig, change: (path: string) => string): RunConfig {
  const { tasks, policy, learning, trackers } = config
  return {
    ...config,
    tasks: tasks.map((task) => ({
      ...task,
      ...(task.data === undefined ? {} : { data: change(task.data) }),
      ...(task.from === undefined ? {} : { from: change(task.from) }),
      ...(task.objective === undefined ? {} : { objective: change(task.objective) }),
      ...(task.agent === undefined
        ? {}
        : { agent: { ...task.agent, command: task.agent.command.map(change) } }),
    })),
    learning: {
      ...learning,
      algorithm: change(learning.algorithm),
      ...(learning.teacher === undefined ? {} : { teacher: change(learning.teacher) }),
    },
    policy: {
      ...policy,
      engine: change(policy.engine),
      ...(policy.from === undefined ? {} : { from: change(policy.from) }),
      trainer: Array.isArray(policy.trainer) ? policy.trainer.map(change) : change(policy.trainer),
    },
    trackers: mapTrackers(trackers, change),
  }
}
