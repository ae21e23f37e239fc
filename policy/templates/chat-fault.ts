/** A conversation cannot be put into the words of a model. */
import { Fault } from '../../faults/fault.ts'

/** `refused`: the model's template refuses the messages; the same messages would be refused again. */
export class ChatFault extends Fault<'refused'> {
  override readonly name = 'ChatFault'
  protected static override readonly permanentKinds = 'all'
}
