//! Requests of a room to the services.

use crate::support::{Call, Scene, settings};
use aether_engine::{Answer, REQUESTS_MAX, Request};
use aether_wire::RequestId;

fn read(key: &str) -> Request {
    Request::Read { owner: String::new(), collection: "yard".to_owned(), key: key.to_owned() }
}

fn answers(scene: &Scene) -> Vec<(RequestId, Answer)> {
    let calls = scene.room.game().calls.iter();
    calls
        .filter_map(|call| if let Call::Answer(id, answer) = call { Some((*id, answer.clone())) } else { None })
        .collect()
}

#[test]
fn a_request_goes_out_and_its_answer_is_an_input_of_a_later_tick() {
    let mut scene = Scene::new(settings());
    let id = scene.now(|room| room.request(read("chest")));
    assert_eq!(scene.handle.next_request(), Some((id, read("chest"))));
    assert_eq!(scene.handle.next_request(), None);
    scene.ticks(3);
    assert_eq!(answers(&scene), [], "nothing is pending");
    scene.handle.answer(id, Answer::Value(Some(vec![0; 5]))).unwrap();
    assert_eq!(answers(&scene), []);
    scene.tick();
    assert_eq!(answers(&scene), [(id, Answer::Value(Some(vec![0; 5])))]);
    assert_eq!(scene.totals().requests, 1);
}

#[test]
fn requests_beyond_the_limit_fail_at_the_next_tick() {
    let mut scene = Scene::new(settings());
    let ids = scene.now(|room| (0..REQUESTS_MAX + 3).map(|_| room.request(read("chest"))).collect::<Vec<_>>());
    assert_eq!(answers(&scene), []);
    assert_eq!((scene.totals().requests, scene.totals().requests_refused), (REQUESTS_MAX as u64, 3));
    scene.tick();
    let failed = answers(&scene);
    assert_eq!(failed.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids[REQUESTS_MAX..]);
    assert!(failed.iter().all(|(_, answer)| matches!(answer, Answer::Failed(_))), "{failed:?}");
    scene.tick();
    assert_eq!(answers(&scene).len(), 3, "each fails once");
}

#[test]
fn requests_are_pending_until_they_are_answered_not_until_they_are_taken() {
    let mut scene = Scene::new(settings());
    let ids = scene.now(|room| (0..REQUESTS_MAX).map(|_| room.request(read("chest"))).collect::<Vec<_>>());
    while scene.handle.next_request().is_some() {}
    scene.now(|room| room.request(read("one more")));
    assert_eq!(scene.totals().requests_refused, 1);
    scene.handle.answer(ids[0], Answer::Done).unwrap();
    scene.tick();
    scene.now(|room| room.request(read("one more")));
    assert_eq!(scene.totals().requests_refused, 1);
    assert_eq!(scene.handle.next_request().unwrap().1, read("one more"));
}
