//! Functions of the program that a stream calls, either on a thread that the program subscribes, or on the stream's own
//! thread.

mod calls;
mod reports;
mod subscriptions;
