//! Seal a chunk, hand it over, use it again.

use loom::thread;

use super::{Model, check};

#[test]
fn a_chunk_that_is_handed_over_and_used_again_gives_each_record_once() {
    check(|| {
        // A chunk for each record or two, and as few as there can be: they come round.
        let model = Model::new(2, 1, 2);
        let producer = {
            let model = model.clone();
            thread::spawn(move || {
                let writer = model.open_desk(1);
                (1..=2).for_each(|number| model.emit(&writer, number));
            })
        };
        let mut seen = model.flush();
        producer.join().expect("it emits");
        seen.extend(model.flush());
        let writer = model.open_desk(2);
        (3..=4).for_each(|number| model.emit(&writer, number));
        seen.extend(model.flush());
        assert_eq!(seen, [1, 2, 3, 4]);
    });
}
