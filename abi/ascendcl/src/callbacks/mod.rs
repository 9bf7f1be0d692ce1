//! Functions of the program that a stream calls, on a thread that the program subscribes, or on the stream's own.

mod calls;
mod reports;
mod subscriptions;
