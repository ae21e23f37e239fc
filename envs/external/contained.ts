/**
 * An environment of a module, contained: what its code does outside of a call is the fault of its episode, not of the process.
 *
 * Invariants
 * - [CONTAINED-1] A rejection or exception that a session leaves unhandled fails its call in progress, or else its next one, as
 *   `session_lost`. After the close it is reported, and nothing else.
 * - [CONTAINED-2] The same of the task, outside of any session, is reported.
 * - [CONTAINED-3] Rewards are checked. The module cannot end the process.
 */
import { reasonOf } from '../../faults/reason.ts'
import {
  type CodeOwner,
  ownedBy,
  reportingOwner,
  reportStray,
  runAs,
} from '../../machine/modules/module-code.ts'
import type { AssistantMessage } from '../../messages/message.ts'
import {
  type Adviser,
  checkReward,
  type Environment,
  type EnvironmentDefinition,
  EnvironmentFault,
  type InstanceId,
  type Observation,
  type StepResult,
  type Task,
  type TaskOptions,
} from '../contract/environment.ts'
import type { Ask } from '../contract/question.ts'

/** The same environment, contained. */
export function contained(definition: EnvironmentDefinition): EnvironmentDefinition {
  const owner = reportingOwner(`the environment "${definition.name}"`)
  return {
    ...definition,
    open: async (options: TaskOptions) =>
      containedTask(await runAs(owner, () => definition.open(options)), owner),
  }
}

function containedTask(task: Task, owner: CodeOwner): Task {
  const owned = ownedBy(owner, task)
  const own: Partial<Task> = {
    create: (ask) => ContainedSession.of(task, owner.name, ask),
    ...(task.advise === undefined
      ? {}
      : { advise: (instance) => ownedBy(owner, owned.advise?.(instance) ?? {}) as Adviser }),
  }
  return new Proxy(owned, { get: (target, key) => Reflect.get(key in own ? own : target, key) })
}

class ContainedSession implements Environment, CodeOwner {
  readonly name: string
  readonly #lost = Promise.withResolvers<never>()
  #session: Environment | undefined
  #isClosed = false

  private constructor(name: string) {
    this.name = name
    // It is awaited by calls alone, and there may be none.
    this.#lost.promise.catch(() => undefined)
  }

  static async of(task: Task, name: string, ask: Ask | undefined): Promise<ContainedSession> {
    const contained = new ContainedSession(name)
    contained.#session = await runAs(contained, () => task.create(ask))
    return contained
  }

  get tools() {
    return runAs(this, () => this.#known.tools)
  }

  reset(instance: InstanceId): Promise<Observation> {
    return this.#call((session) => session.reset(instance))
  }

  async step(action: AssistantMessage): Promise<StepResult> {
    const result: StepResult | null | undefined = await this.#call((session) => session.step(action))
    if (typeof result !== 'object' || result === null)
      throw new EnvironmentFault('bad_data', `${this.name} answered a step with ${String(result)}`)
    checkReward(this.name, result.reward)
    return result
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await runAs(this, () => this.#known.close())
  }

  onStray(thrown: unknown): void {
    if (this.#isClosed) reportStray(this.name, thrown)
    const words = `${this.name} failed where no call waits for it: ${reasonOf(thrown)}`
    this.#lost.reject(new EnvironmentFault('session_lost', words, { cause: thrown }))
  }

  get #known(): Environment {
    if (this.#session !== undefined) return this.#session
    throw new EnvironmentFault('session_lost', `${this.name} has no session yet`)
  }

  /** A call that fails with the session. */
  #call<T>(work: (session: Environment) => Promise<T>): Promise<T> {
    return Promise.race([this.#lost.promise, runAs(this, () => work(this.#known))])
  }
}
