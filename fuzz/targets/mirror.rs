//! State packets of any content: a mirror that knows the types and one that knows only their
//! descriptor agree on what they accept and on what they then hold.

#![no_main]

use aether_bits::{RecordSchema, Replicate, Schema};
use aether_replication::{DeliveryOrder, Mirror};
use libfuzzer_sys::fuzz_target;

#[derive(Clone, Replicate)]
#[replicate(channel = "movement", position = position)]
struct Body {
    #[replicate(range = -1000.0..=1000.0, step = 0.01, moves_by = velocity)]
    position: [f32; 2],
    #[replicate(range = -50.0..=50.0, step = 0.01)]
    velocity: [f32; 2],
    #[replicate(angle = 8)]
    heading: f32,
}

#[derive(Clone, Replicate)]
#[replicate(channel = "presence")]
struct Badge {
    #[replicate(text = 8)]
    name: String,
}

fuzz_target!(|input: (bool, Vec<&[u8]>)| {
    let (ordered, packets) = input;
    let link = if ordered { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
    let schema =
        Schema { components: vec![RecordSchema::of::<Body>(), RecordSchema::of::<Badge>()], ..Schema::default() };
    let typed = Mirror::builder().component::<Body>().component::<Badge>();
    let mut typed = typed.build(link, 0.05);
    let mut described = Mirror::builder().described(&schema).build(link, 0.05);
    for packet in packets {
        assert_eq!(typed.apply(packet), described.apply(packet));
        assert!(typed.entities().eq(described.entities()));
        assert_eq!(typed.hash(), described.hash());
    }
});
