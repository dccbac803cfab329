// Package sim has the shared parts of simulated clouds: clock, latency, token buckets, fault scripts and a
// call log. It handles HTTP, and contains no code of a cloud.
//
// A simulator is an http.Handler with the state of a cloud. A [Front] wraps it and makes it behave like a
// remote cloud. Clients reach it over a socket (the front is an http.Handler itself) or in process
// ([Front.Transport]); both use the same code. Requests and responses are held in memory completely: the
// package is for APIs with small documents, not for streams.
//
// # Steps of a call
//
// In this order:
//
//  1. Latency: the request has been read completely, and waits on the front's clock. A client that
//     stops waiting here is logged with Status 0; its call was not executed and has no number in the fault
//     script.
//  2. Fault script: the call gets its number, and possibly a fault. FaultKillBefore,
//     FaultError, FaultThrottle and FaultDenied end the call here; it is not executed. FaultHang
//     keeps it here until the client gives up.
//  3. Token bucket: a call over the limit is answered by Dialect.Throttled with Retry-After; it is not
//     executed.
//  4. Do: the handler runs to its end.
//  5. Lost reply: FaultLostReply and FaultKillAfter discard the response, whether it came from
//     the handler or from the token bucket.
//
// A client sees a lost reply as a broken connection: in process as an error that wraps [ErrBroken] and
// [syscall.ECONNRESET], over a socket as a connection closed without a response. Go's http.Transport repeats
// a GET or HEAD on its own when a reused connection breaks like this, so a read with a lost reply may appear
// twice in the log.
//
// # Generations
//
// A kill fault ends a generation: the requests of a client process that was killed. The function set by
// [Front.OnKill] is called once. From that moment every call of the generation sees a broken connection:
// waiting calls are not executed, calls in flight lose their reply, and new ones are rejected, until
// [Front.Revive] starts the next generation. A rejected call never reached the cloud: it is neither logged,
// nor numbered, nor counted as injected.
package sim
