/** A question that has no answer: it becomes a refusal of its kind, with its message. */
import { Fault } from '../../faults/fault.ts'
import type { RefusalKind } from '../contract/refusal.ts'

export class Refused extends Fault<RefusalKind> {
  override readonly name = 'Refused'
}
