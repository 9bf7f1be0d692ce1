/// Defines the kinds of events, each in one row: its fields, its name in the protocol, and everything that depends on
/// the kind. A new kind is a new row in `kind.rs` and in `docs/debug-protocol.md`.
///
/// - `queue`: the [`Queue`](super::Queue) in which its events wait.
/// - `sent`: whether a client gets it [`Always`](super::kind::Sent::Always),
///   [`ByDefault`](super::kind::Sent::ByDefault), or only [`OnRequest`](super::kind::Sent::OnRequest).
/// - `about`: the run, the position and the breakpoints that it reports.
/// - `stop`: why a run is stopped at it, if one is.
/// - `text`: the text for users. `thread` is the thread that raised the event.
macro_rules! event_kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident $({ $( $(#[$field_doc:meta])* $field:ident: $type:ty, )* })? => {
            name: $name:literal, queue: $queue:ident, sent: $sent:ident, about: $about:expr, stop: $stop:expr,
            text: |$f:ident, $thread:ident| $text:expr,
        }
    )*) => {
        /// The kind of an event, with its data.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        #[non_exhaustive]
        pub enum EventKind {
            $(
                $(#[$doc])*
                #[serde(rename = $name)]
                $kind $({ $( $(#[$field_doc])* $field: $type, )* })?,
            )*
        }

        /// The name of a kind of events.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum EventName {
            $(
                #[doc = concat!("`", $name, "`: see [`EventKind::", stringify!($kind), "`].")]
                #[serde(rename = $name)]
                $kind,
            )*
        }

        impl EventName {
            /// All names.
            pub const ALL: [EventName; [$($name),*].len()] = [$(EventName::$kind),*];

            /// Returns the name as it is written in the protocol.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( EventName::$kind => $name, )*
                }
            }

            /// Returns the queue of these events. It is a property of the kind, so a debugger knows which events make a
            /// thread wait.
            pub const fn queue(self) -> Queue {
                match self {
                    $( EventName::$kind => Queue::$queue, )*
                }
            }

            pub(super) const fn sent(self) -> Sent {
                match self {
                    $( EventName::$kind => Sent::$sent, )*
                }
            }
        }

        // No row uses all fields.
        #[allow(unused_variables)]
        impl EventKind {
            /// Returns the kind's name.
            pub fn name(&self) -> EventName {
                match self {
                    $( EventKind::$kind { .. } => EventName::$kind, )*
                }
            }

            /// Returns why a run is stopped at this event; `None` if its thread only waits for the acknowledgement.
            pub fn stop_cause(&self) -> Option<StopCause> {
                match self {
                    $( EventKind::$kind $({ $($field),* })? => $stop, )*
                }
            }

            fn about(&self) -> About<'_> {
                match self {
                    $( EventKind::$kind $({ $($field),* })? => $about, )*
                }
            }

            /// Writes the text for users.
            pub(super) fn write_text(&self, f: &mut fmt::Formatter<'_>, thread: u32) -> fmt::Result {
                match self {
                    $( EventKind::$kind $({ $($field),* })? => {
                        let ($f, $thread) = (&mut *f, thread);
                        $text
                    } )*
                }
            }
        }
    };
}

pub(super) use event_kinds;
