/// What happens when a record finds the buffer full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The emitting thread waits until a callback has made room. Nothing is lost.
    Lossless,
    /// The record is dropped and counted, as is everything larger than the room that is left, until the buffer is flushed
    /// explicitly. A buffer that is full to its last byte is closed, too.
    Discard,
    /// The oldest records are dropped and counted: the buffer keeps the newest. With a watermark at the size it is a flight
    /// recorder, which delivers only when it is flushed or destroyed.
    Overwrite,
}
