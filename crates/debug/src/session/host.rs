use serde_json::Value;

/// A program to which clients attach while it runs, and which prepares for them only then.
pub trait Host: Send + Sync {
    /// A client has attached, or the one that was attached is no longer. This is called on the thread that noticed it,
    /// which has other work: it must not wait for anything.
    fn attached(&self, is_attached: bool);

    /// A client asks the program to attach an instrument to itself, such as a dump. What it wants is for the two of them
    /// to agree on. The same holds for the thread. Returns whether the program does this.
    fn instrument(&self, wanted: &Value) -> bool;
}
