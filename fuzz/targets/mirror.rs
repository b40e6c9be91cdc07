//! State packets with any content: a mirror with the types and a mirror with only the schema accept the same packets
//! and have the same state.

#![no_main]

use aether_bits::{RecordSchema, Schema};
use aether_replication::{DeliveryOrder, Mirror};
use aether_testkit::moving::{Body, SECONDS_PER_TICK, Tag};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, Vec<&[u8]>)| {
    let (ordered, packets) = input;
    let order = if ordered { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
    let schema =
        Schema { components: vec![RecordSchema::of::<Body>(), RecordSchema::of::<Tag>()], ..Schema::default() };
    let typed = Mirror::builder().component::<Body>().component::<Tag>();
    let mut typed = typed.build(order, SECONDS_PER_TICK);
    let mut described = Mirror::builder().described(&schema).build(order, SECONDS_PER_TICK);
    for packet in packets {
        assert_eq!(typed.apply(packet), described.apply(packet));
        assert!(typed.entities().eq(described.entities()));
        assert_eq!(typed.hash(), described.hash());
    }
});
