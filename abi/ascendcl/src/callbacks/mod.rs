//! Functions of the program that a stream calls: in a thread of the program that asks for them, or in the stream's own.

mod calls;
mod reports;
mod subscriptions;
