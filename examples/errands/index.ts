/**
 * Errands of the built-in household games as three tasks, for experiments on tasks that learn together: they differ in length,
 * in difficulty, and in the scale of their reward.
 *
 * Invariants
 * - Nothing of the games changes but which errands there are and what a win is paid.
 */
import { builtInEnvironment, type Environment, type EnvironmentDefinition, type Task } from 'perdure'

const household = await builtInEnvironment('alfworld')

/** To put a thing somewhere, or to look at it under a lamp. */
export const bring = errands('bring', ['place', 'light'], 1)

/** To clean, heat or cool a thing on the way. */
export const treat = errands('treat', ['clean', 'heat', 'cool'], 1)

/** To bring two things, one after the other; paid tenfold. */
export const pair = errands('pair', ['two'], 10)

function errands(name: string, tasks: readonly string[], prize: number): EnvironmentDefinition {
  return {
    ...household,
    name,
    summary: `Household errands of these kinds: ${tasks.join(', ')}.`,
    reward: `${prize} for what was asked for, else 0`,
    open: async (options) => {
      const task = await household.open({ ...options, settings: { ...options.settings, tasks: [...tasks] } })
      return paying(task, prize)
    },
  }
}

function paying(task: Task, prize: number): Task {
  return {
    splits: task.splits,
    instanceAt: (split, index) => task.instanceAt(split, index),
    create: async () => payingSession(await task.create(), prize),
    demonstrate: async (instance, take) => task.demonstrate?.(instance, take),
    close: () => task.close(),
  }
}

function payingSession(session: Environment, prize: number): Environment {
  return {
    get tools() {
      return session.tools
    },
    reset: (instance) => session.reset(instance),
    step: async (action) => {
      const step = await session.step(action)
      return { ...step, reward: step.reward * prize }
    },
    close: () => session.close(),
  }
}
