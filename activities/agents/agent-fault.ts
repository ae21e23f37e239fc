/** Faults of an agent's own program: the episode has no reward. */
import { Fault } from '../../faults/fault.ts'

/**
 * The program did not play its episode to an end. `crashed`: it ended with an error, or was killed. `silent`: it sent no request for too
 * long. `flood`: it sent too many requests that were refused. `forks`: it started too many processes. `body_limit`: it sent too large a
 * request. `no_turns`: it never asked the policy. `no_reward`, `bad_reward`: it gave no reward, or one that cannot be used. `diverged`:
 * after a restart it asked for something else than before.
 */
export class AgentFault extends Fault<
  | 'crashed'
  | 'silent'
  | 'flood'
  | 'forks'
  | 'body_limit'
  | 'no_turns'
  | 'no_reward'
  | 'bad_reward'
  | 'diverged'
> {
  override readonly name = 'AgentFault'
  // A program that was killed, or waited for something, may succeed at the next try.
  protected static override readonly permanentKinds: readonly AgentFault['kind'][] = [
    'flood',
    'forks',
    'body_limit',
    'no_turns',
    'no_reward',
    'bad_reward',
    'diverged',
  ]
}
