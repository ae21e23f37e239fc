/**
 * Compiles calls: of aggregates and window functions where the clause has them, else of functions.
 *
 * Invariants
 * - An aggregate outside of the clauses that may have one is refused.
 */
import { sqlFailure } from '../database.ts'
import { groupMisuse, refuse } from '../failure.ts'
import { isAggregate } from '../functions/aggregates.ts'
import { functionCall } from '../functions/functions.ts'
import { isWindowFunction } from '../functions/window-functions.ts'
import type { Call } from '../syntax/syntax.ts'
import type { Compiled, Scope } from './scope.ts'

export function compileCall(call: Call, scope: Scope): Compiled {
  const { name } = call
  if (call.window !== undefined || isWindowFunction(name)) {
    if (scope.window !== undefined) return scope.window(call, scope)
    return refuse(
      sqlFailure(
        3593,
        'HY000',
        `You cannot use the window function '${name.toLowerCase()}' in this context.'`,
      ),
    )
  }
  if (isAggregate(name)) return (scope.aggregate ?? misused)(call, scope)
  return functionCall(
    name,
    call.args.map((arg) => scope.compile(arg)),
    scope,
  )
}

function misused(): never {
  return refuse(groupMisuse)
}
