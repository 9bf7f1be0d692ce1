//! The counts of a queue, message by message.

use opscope_model::testing::GraphBuilder;
use opscope_onnx::{OperatorId, ValueId};
use opscope_tensor::DType;

use super::*;
use crate::{Io, Origin};

const KIB: usize = 1 << 10;

fn queue(cap: usize, policy: Policy) -> Queue {
    Queue::new(&Flow { cap, policy }, Clock::system())
}

fn blocking(cap: usize) -> Queue {
    queue(cap, Policy::Block { patience: Duration::ZERO })
}

fn stream(bytes: usize) -> Stream {
    let graph = GraphBuilder::new("one").input("x", &[1]).operator("op", "Relu", &["x"], &["y"]).output("y").build();
    let origin = Origin {
        graph: Arc::new(graph),
        plan: 0,
        run: None,
        operator: OperatorId::new(0),
        path: Box::default(),
        io: Io::Output,
        slot: 0,
        value: ValueId::new(1),
    };
    Stream { origin, dtype: DType::U8, shape: vec![bytes], bytes: bytes as u64, siblings: 1 }
}

/// Copies a tensor into a queue. Returns whether it was accepted.
fn put(queue: &Queue, bytes: usize) -> bool {
    queue.whole(stream(bytes), Whole::Copied(vec![0; bytes])).is_none()
}

/// Handles the next message.
fn handle(queue: &Queue) {
    let message = queue.take(None);
    queue.close();
    assert!(message.is_some());
    let mut state = queue.state.lock();
    Queue::free(&mut message.expect("one waits"), &mut state);
    state.closed = false;
}

/// Returns the number of pieces in the spill file, and the end of the file.
fn spilled(queue: &Queue) -> (usize, u64) {
    let state = queue.state.lock();
    (state.spilled, state.spill_end)
}

fn used(queue: &Queue) -> usize {
    queue.state.lock().used
}

#[test]
fn a_whole_tensor_takes_its_bytes_and_512_more_until_it_was_handled() {
    let queue = blocking(64 * KIB);
    assert!(!put(&queue, 64 * KIB - 511), "one byte more than ever fits");
    assert!(put(&queue, 64 * KIB - 512));
    assert_eq!(used(&queue), 64 * KIB);
    assert!(!put(&queue, 0));
    handle(&queue);
    assert_eq!((used(&queue), queue.state.lock().progress), (0, 1));
    assert!(put(&queue, 1000) && put(&queue, 2000));
    assert_eq!(used(&queue), 3000 + 2 * 512);
}

#[test]
fn under_drop_there_is_room_for_what_fits_with_its_messages() {
    let queue = queue(64 * KIB, Policy::Drop);
    assert!(queue.drops() && !blocking(64 * KIB).drops());
    // Blocks have 16 KiB. Three of them with 512 bytes each, and 512 bytes for the beginning, fit; four do not.
    assert!(queue.has_space_for(48 * KIB as u64) && !queue.has_space_for(48 * KIB as u64 + 1));
    assert!(put(&queue, 16_000) && put(&queue, 16_000));
    // 65,536 - 2 * 16,512 bytes are free. A small tensor takes its own and two messages; a large one, whole blocks.
    assert!(queue.has_space_for(32_512 - 1024) && !queue.has_space_for(32_512 - 1023));
    handle(&queue);
    assert!(queue.has_space_for(32 * KIB as u64) && !queue.has_space_for(32 * KIB as u64 + 1));
    handle(&queue);
    assert!(queue.has_space_for(48 * KIB as u64));
}

#[test]
fn a_large_piece_takes_a_block_that_is_used_again_and_a_small_one_its_bytes() {
    let queue = blocking(1 << 20);
    assert_eq!(queue.piece_size(), 256 * KIB);
    queue.begin(stream(1 << 20)).expect("there is room");
    assert_eq!((used(&queue), SMALL), (512, 32_768));
    queue.piece(&vec![1; SMALL], 0, false).expect("there is room");
    assert_eq!(used(&queue), 2 * 512 + 32 * KIB);
    queue.piece(&vec![2; SMALL + 1], 0, false).expect("there is room");
    assert_eq!(used(&queue), 3 * 512 + 32 * KIB + 256 * KIB);
    (0..3).for_each(|_| handle(&queue));
    // The block is kept.
    assert_eq!((used(&queue), queue.state.lock().free.len()), (256 * KIB, 1));
    assert!(queue.has_space_for(768 * KIB as u64), "what a block takes is free");
    assert!(!queue.has_space_for(768 * KIB as u64 + 1));
    queue.piece(&vec![3; SMALL], 0, false).expect("there is room");
    assert_eq!((used(&queue), queue.state.lock().free.len()), (256 * KIB + SMALL + 512, 1), "a small one leaves it");
    handle(&queue);
    queue.piece(&vec![3; 100 * KIB], 0, true).expect("there is room");
    assert_eq!((used(&queue), queue.state.lock().free.len()), (256 * KIB + 512, 0));
    handle(&queue);
    // It is freed if a tensor needs its space.
    assert!(put(&queue, (1 << 20) - 512));
    assert_eq!((used(&queue), queue.state.lock().free.len()), (1 << 20, 0));
}

#[test]
fn a_run_waits_until_a_piece_and_its_message_fit() {
    let queue = blocking(64 * KIB);
    assert!(put(&queue, 40_000));
    // 25,024 bytes are free, including those for the message.
    assert!(matches!(queue.piece(&[0; 24_513], 0, true), Err(Refused::Patience(Duration::ZERO))));
    queue.piece(&[0; 24_512], 0, true).expect("it fits");
    assert_eq!(used(&queue), 64 * KIB);
    assert!(matches!(queue.begin(stream(0)), Err(Refused::Patience(_))));
    queue.push(Message::RunEnded(RunId(0)));
    assert_eq!(used(&queue), 64 * KIB + 512, "the end of a run does not wait");
    (0..3).for_each(|_| handle(&queue));
    assert_eq!(used(&queue), 0);
}

#[test]
fn a_block_that_is_free_is_no_use_without_room_for_its_message() {
    let queue = blocking(1 << 20);
    queue.piece(&vec![1; 100 * KIB], 0, true).expect("there is room");
    handle(&queue);
    // With the free block, 511 bytes are left.
    let rest = (1 << 20) - 256 * KIB - 512 - 511;
    assert!(put(&queue, rest));
    assert_eq!((used(&queue), queue.state.lock().free.len()), ((1 << 20) - 511, 1));
    assert!(matches!(queue.piece(&vec![2; 100 * KIB], 0, true), Err(Refused::Patience(_))));
    // It was freed in the search for space, and a piece that is one byte smaller fits with a new one.
    assert_eq!((used(&queue), queue.state.lock().free.len()), (rest + 512, 0));
    handle(&queue);
    assert!(put(&queue, rest - 1));
    queue.piece(&vec![2; 100 * KIB], 0, true).expect("it fits");
    assert_eq!(used(&queue), 1 << 20);
}

#[test]
fn what_does_not_fit_is_spilled_back_to_back_and_the_file_begins_anew_when_it_is_empty() {
    let directory = tempfile::tempdir().expect("a directory");
    let queue = queue(128 * KIB, Policy::Spill { directory: directory.path().into() });
    assert_eq!((queue.cap, queue.piece_size()), (64 * KIB, 16 * KIB));
    assert!(put(&queue, 64 * KIB - 512));
    for round in [0u8, 1] {
        queue.piece(&[round + 1; 300], 0, false).expect("the disk has room");
        queue.piece(&[round + 2; 50], 300, true).expect("the disk has room");
        assert_eq!(spilled(&queue), (2, 350));
        assert_eq!(queue.read_spilled(0, 300).expect("it was written"), [round + 1; 300]);
        assert_eq!(queue.read_spilled(300, 50).expect("it was written"), [round + 2; 50]);
        assert!(queue.read_spilled(301, 50).is_err(), "there is no more");
        let places: Vec<_> = std::iter::from_fn(|| queue.state.lock().messages.pop_back()).collect();
        let place = |message: &Message| match message {
            Message::Piece { data: Data::Spilled { offset, length }, offset: at, last } => {
                Some((*offset, *length, *at, *last))
            }
            _ => None,
        };
        let found: Vec<_> = places.iter().filter_map(place).collect();
        assert_eq!(found, [(300, 50, 300, true), (0, 300, 0, false)]);
        let mut rest = None;
        for mut message in places {
            match place(&message) {
                Some(_) => Queue::free(&mut message, &mut queue.state.lock()),
                None => rest = Some(message),
            }
        }
        queue.state.lock().messages.extend(rest);
        assert_eq!(spilled(&queue), (0, 0));
    }
}

#[test]
fn a_queue_that_was_left_takes_nothing() {
    let queue = blocking(64 * KIB);
    assert!(put(&queue, 10));
    queue.leave();
    assert!(queue.state.lock().messages.is_empty());
    assert!(!put(&queue, 10));
    assert!(matches!(queue.begin(stream(1)), Err(Refused::Gone)));
    queue.push(Message::RunEnded(RunId(0)));
    assert!(queue.state.lock().messages.is_empty());
}
