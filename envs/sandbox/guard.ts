/**
 * What a container starts: the shell that commands are sent to, and a guard that ends it with its owner.
 *
 * Invariants
 * - The container ends when the connection of its owner does, whatever the shell is busy with: the guard reads
 *   the connection, the shell reads the guard.
 * - It ends as well when the shell or the guard is killed.
 * - Signals to the container reach the shell.
 */
import { interruptSignal } from './shell-script.ts'

const signal = interruptSignal.replace(/^SIG/, '')

/** For `/bin/sh`; its own process is the first child of the container's init. */
export const guardScript = `shell=/bin/sh; [ -x /bin/bash ] && shell=/bin/bash
exec 3<&0 </dev/null
{ cat <&3; kill -KILL $$; } | "$shell" -s 3<&- &
shell=$!
exec 3<&-
trap 'kill -${signal} $shell' ${signal}
while kill -0 $shell; do wait $shell; done 2>/dev/null`
