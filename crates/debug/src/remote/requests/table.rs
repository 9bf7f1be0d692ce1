/// Makes [`AnyRequest`](super::AnyRequest) of the list of requests: for each a variant, whose name in snake case is the
/// name on the wire, and its type.
macro_rules! requests {
    ($($first:ident($first_type:ty)),+; $($name:ident($type:ty)),+ $(,)?) => {
        /// Any request of a debugger, as it is on the wire but for the `id`.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(tag = "request", rename_all = "snake_case")]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the types are described")]
        pub enum AnyRequest {
            $($first($first_type),)+
            $($name($type),)+
        }

        impl AnyRequest {
            /// The name of each request, and what it does.
            pub const TABLE: &[(&str, &str)] = &[
                $((<$first_type as Request>::NAME, <$first_type as Request>::PURPOSE),)+
                $((<$type as Request>::NAME, <$type as Request>::PURPOSE),)+
            ];

            /// Returns its name on the wire.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$first(_) => <$first_type as Request>::NAME,)+
                    $(Self::$name(_) => <$type as Request>::NAME,)+
                }
            }

            /// Returns whether its answer has the events of which the debugger was notified.
            pub(in crate::remote) fn takes_events(&self) -> bool {
                match self {
                    $(Self::$first(_) => <$first_type as Request>::TAKES_EVENTS,)+
                    $(Self::$name(_) => <$type as Request>::TAKES_EVENTS,)+
                }
            }

            /// Carries out a request of the attached debugger.
            pub(in crate::remote) fn perform(
                self,
                attachment: &Attachment,
                attached: Vec<u8>,
            ) -> Result<Reply<()>, Refusal> {
                match self {
                    $(Self::$first(_) => unreachable!("the connection carries it out"),)+
                    $(Self::$name(request) => Ok(request.perform(attachment, attached)?.untyped()),)+
                }
            }
        }

        $(impl From<$first_type> for AnyRequest {
            fn from(request: $first_type) -> Self {
                Self::$first(request)
            }
        })+

        $(impl From<$type> for AnyRequest {
            fn from(request: $type) -> Self {
                Self::$name(request)
            }
        })+
    };
}

pub(super) use requests;
