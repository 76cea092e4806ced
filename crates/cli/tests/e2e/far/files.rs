//! The bytes of a job's files, exact and at their offsets; one slow reader holds up nobody else.

use super::id;
use outlive_core::bound::Bound;
use outlive_core::far::{Answer, Call, FarFile, Opening};
use outlive_core::wire::{Frame, Kind, WINDOW};
use outlive_testkit::wire_client::WireClient;
use outlive_testkit::world::World;

fn bytes(job: &str, file: FarFile, from: u64, to: Option<u64>) -> Opening {
    let job = id(job);
    Opening::Bytes {
        job,
        file,
        from,
        to,
    }
}

fn read(far: &mut WireClient, opening: &Opening) -> Vec<u8> {
    let stream = far.open(opening);
    far.ended(stream).unwrap();
    far.data(stream)
}

#[test]
fn an_output_with_a_dropped_middle_is_read_at_its_offsets() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    let mut launch = far.launch_of("job", &["sh", "-c", "yes 0123456 | head -c 3000000"]);
    launch.spec.max_output = Some(1_000_000);
    far.try_launch(launch);
    far.until_over("job");
    let answer = far.call(Call::Look { job: id("job") }).unwrap();
    let Answer::Look { job, output_size } = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((output_size, job.exit_code), (3_000_000, Some(0)));
    let whole = read(&mut far, &bytes("job", FarFile::Output, 0, None));
    assert_eq!(whole.len(), 3_000_000);
    let full: Vec<u8> = b"0123456\n"
        .iter()
        .copied()
        .cycle()
        .take(3_000_000)
        .collect();
    let middle = Bound::new(1_000_000).dropped(3_000_000);
    assert!(middle.end - middle.start > 1_500_000, "{middle:?}");
    let (start, end) = (middle.start as usize, middle.end as usize);
    assert!(whole[..start] == full[..start], "the head");
    assert!(whole[end..] == full[end..], "the tail");
    let part = read(
        &mut far,
        &bytes("job", FarFile::Output, 2_999_990, Some(2_999_995)),
    );
    assert_eq!(part, full[2_999_990..2_999_995]);
    for (from, to) in [
        (3_000_000, None),
        (u64::MAX, None),
        (0, Some(0)),
        (9, Some(3)),
    ] {
        assert_eq!(
            read(&mut far, &bytes("job", FarFile::Output, from, to)),
            b""
        );
    }
    let index = std::fs::read(world.job_dir("job").join("index")).unwrap();
    assert_eq!(
        read(&mut far, &bytes("job", FarFile::Index, 0, None)),
        index
    );
    assert_eq!(
        read(&mut far, &bytes("job", FarFile::Streams, 0, None)),
        b""
    );
}

#[test]
fn a_stream_that_nobody_takes_from_does_not_stop_the_others() {
    let world = World::new();
    let mut far = WireClient::greeted(&world);
    far.launch("job", &["head", "-c", "2000000", "/dev/zero"]);
    far.until_over("job");
    let opening = bytes("job", FarFile::Output, 0, None);
    let stuck: Vec<u64> = (0..8).map(|_| far.open_held(&opening)).collect();
    for stream in &stuck {
        far.until_data(*stream, "the window is full", |data| data.len() == WINDOW);
    }
    assert_eq!(read(&mut far, &opening).len(), 2_000_000);
    assert!(far.call(Call::Look { job: id("job") }).is_ok());
    // The next window comes when there is room again, and nothing beyond it.
    let room = Frame::new(stuck[0], Kind::Room, WINDOW.to_string());
    far.send(&room);
    far.until_data(stuck[0], "another window", |data| data.len() == 2 * WINDOW);
    // A stream that is given up sends no more.
    far.send(&Frame::new(stuck[1], Kind::End, []));
    far.send(&Frame::new(stuck[1], Kind::Room, WINDOW.to_string()));
    assert_eq!(read(&mut far, &opening).len(), 2_000_000);
    assert_eq!(far.data(stuck[1]).len(), WINDOW);
}
