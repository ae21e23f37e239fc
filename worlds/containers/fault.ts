/**
 * Containers: machines for untrusted code, on Docker or an engine that speaks its language.
 *
 * They are used alone by `openSandbox` (`open.ts`): acquire a container by its specification (`sandbox.ts`), run scripts in it, copy files in
 * and out, release it. They know nothing of tasks, agents or rewards.
 *
 * Invariants
 * - Every failure that is not the doing of the code in a container is a ContainerFault.
 */
import { Fault } from '../../faults/fault.ts'

/**
 * `bad_settings`: a specification, an image or an address that no container can be made with. `backend`: the engine failed or did not
 * answer. `session_lost`: this container is gone, and another can be had.
 */
export class ContainerFault extends Fault<'bad_settings' | 'backend' | 'session_lost'> {
  override readonly name = 'ContainerFault'
  protected static override readonly permanentKinds: readonly string[] = ['bad_settings']
}
