//! What is kept of purchases, on every kind of database.

use crate::fixture::{START_MS, World, refusal, worlds};
use aether_services::purchase::{
    PurchaseProvider, Purchases, Receipt, Shop, ValidateFuture, ValidatedPurchase, ValidatedSubscription,
};
use aether_services::{GrpcCode, ServiceError};
use tokio::task::JoinSet;
use uuid::Uuid;

/// A shop where a receipt is a list of what was bought: `id at, id at`.
struct Market(Shop);

impl PurchaseProvider for Market {
    fn shop(&self) -> Shop {
        self.0
    }

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>> {
        let bought = receipt.text.split(", ").map(|one| {
            let (id, at) = one.split_once(' ').ok_or(ServiceError::invalid("no"))?;
            Ok(ValidatedPurchase {
                product_id: "gems".to_owned(),
                transaction_id: id.to_owned(),
                purchased_at: at.parse().map_err(|_| ServiceError::invalid("no"))?,
                response: r#"{"a":1}"#.to_owned(),
                ..ValidatedPurchase::default()
            })
        });
        let bought = bought.collect::<Result<Vec<_>, ServiceError>>();
        Box::pin(async { bought })
    }

    fn subscription<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, ValidatedSubscription> {
        let mut words = receipt.text.split(' ').map(str::to_owned);
        let mut word = move || words.next().unwrap_or_default();
        let subscribed = ValidatedSubscription {
            original_transaction_id: word(),
            product_id: word(),
            purchased_at: word().parse().unwrap_or(0),
            expires_at: word().parse().unwrap_or(0),
            response: "{}".to_owned(),
            ..ValidatedSubscription::default()
        };
        Box::pin(async { Ok(subscribed) })
    }
}

fn purchases(world: &World) -> Purchases {
    let purchases = Purchases::new(world.store.clone(), world.clock.clone());
    purchases.with_provider(Market(Shop::Apple)).with_provider(Market(Shop::Google))
}

fn receipt(text: &str) -> Receipt {
    Receipt { text: text.to_owned(), signature: String::new() }
}

#[tokio::test]
async fn a_purchase_counts_once_and_only_for_whoever_came_first() {
    for world in worlds().await {
        let (purchases, ann, ben) = (purchases(&world), world.user().await, world.user().await);
        let first = purchases.validate(ann, Shop::Apple, receipt("b 1, a 2"), true).await.expect(world.name);
        let seen: Vec<_> = first.iter().map(|one| (one.bought.transaction_id.as_str(), one.seen_before)).collect();
        assert_eq!(seen, [("b", false), ("a", false)]);
        world.clock.advance_ms(7);
        let again = purchases.validate(ann, Shop::Apple, receipt("b 1, c 3"), true).await.expect(world.name);
        assert_eq!(again.iter().map(|one| one.seen_before).collect::<Vec<_>>(), [true, false]);
        let times = again[0].times.expect("it is kept");
        assert_eq!((times.created_at, times.updated_at), (START_MS, START_MS + 7));
        let stolen = refusal(purchases.validate(ben, Shop::Apple, receipt("d 4, a 2"), true).await);
        assert_eq!(stolen, (GrpcCode::FailedPrecondition, "The receipt was used by another account.".to_owned()));
        assert_eq!(
            refusal(purchases.purchase("d").await).0,
            GrpcCode::NotFound,
            "{}: nothing is half done",
            world.name
        );
        purchases.validate(ben, Shop::Google, receipt("a 2"), true).await.expect("another shop's ids are others");
        assert_eq!(purchases.purchase("a").await.expect(world.name).user, ann);
        let nobody = purchases.validate(Uuid::new_v4(), Shop::Apple, receipt("e 1"), true).await;
        assert_eq!(refusal(nobody).0, GrpcCode::NotFound);
    }
}

#[tokio::test]
async fn what_is_not_to_be_kept_is_not() {
    for world in worlds().await {
        let (purchases, ann) = (purchases(&world), world.user().await);
        for _ in 0..2 {
            let found = purchases.validate(ann, Shop::Apple, receipt("a 1"), false).await.expect(world.name);
            assert_eq!((found[0].times, found[0].seen_before), (None, false));
        }
        purchases.validate_subscription(ann, Shop::Apple, receipt("a gems 1 2"), false).await.expect(world.name);
        assert_eq!(world.count("SELECT count(*) FROM purchases").await, 0);
        assert_eq!(world.count("SELECT count(*) FROM subscriptions").await, 0);
    }
}

#[tokio::test]
async fn a_shop_that_is_not_configured_is_named() {
    for world in worlds().await {
        let (purchases, ann) = (purchases(&world), world.user().await);
        let refused = refusal(purchases.validate(ann, Shop::Huawei, receipt("a 1"), true).await);
        assert_eq!(refused.0, GrpcCode::FailedPrecondition);
        assert!(refused.1.contains("Huawei"), "{}", refused.1);
    }
}

#[tokio::test]
async fn a_list_can_be_read_back_to_its_beginning() {
    for world in worlds().await {
        let (purchases, ann) = (purchases(&world), world.user().await);
        purchases.validate(ann, Shop::Apple, receipt("a 1, b 2, c 2, d 5"), true).await.expect(world.name);
        purchases.validate(ann, Shop::Google, receipt("c 2"), true).await.expect(world.name);
        for text in ["s1 gems 1 10", "s2 gold 3 10", "s3 gold 2 10"] {
            purchases.validate_subscription(ann, Shop::Apple, receipt(text), true).await.expect(world.name);
        }
        let read = async |limit, cursor: &str| {
            let page = purchases.purchases(ann, limit, cursor).await.expect(world.name);
            let ids: String = page.entries.iter().map(|one| one.bought.transaction_id.as_str()).collect();
            (ids, page.cursor, page.prev_cursor)
        };
        let (ids, next, prev) = read(2, "").await;
        assert_eq!((ids.as_str(), prev.as_str()), ("dc", ""), "{}: nothing is before the beginning", world.name);
        let (ids, next, prev) = read(2, &next).await;
        assert_eq!(ids, "cb", "{}", world.name);
        let (first, again, none) = read(2, &prev).await;
        assert_eq!((first.as_str(), none.as_str()), ("dc", ""), "{}", world.name);
        assert_eq!(read(2, &again).await.0, "cb", "and forward again");
        let (ids, end, prev) = read(2, &next).await;
        assert_eq!((ids.as_str(), end.as_str()), ("a", ""), "{}", world.name);
        let (middle, _, before) = read(1, &prev).await;
        assert_eq!(middle, "b", "{}: the nearest, not the first", world.name);
        assert_eq!(read(100, &before).await.0, "dcc", "{}", world.name);

        let first = purchases.subscriptions(ann, 2, "").await.expect(world.name);
        let last = purchases.subscriptions(ann, 2, &first.cursor).await.expect(world.name);
        assert_eq!((last.entries.len(), last.cursor.as_str()), (1, ""));
        assert_eq!(purchases.subscriptions(ann, 2, &last.prev_cursor).await.expect(world.name), first);
    }
}

#[tokio::test]
async fn lists_begin_with_the_newest_and_go_on_where_they_stopped() {
    for world in worlds().await {
        let (purchases, ann, ben) = (purchases(&world), world.user().await, world.user().await);
        purchases.validate(ann, Shop::Apple, receipt("a 1, b 2, c 2, d 5"), true).await.expect(world.name);
        purchases.validate(ann, Shop::Google, receipt("c 2"), true).await.expect(world.name);
        purchases.validate(ben, Shop::Apple, receipt("x 9"), true).await.expect(world.name);
        for text in ["s1 gems 1 10", "s2 gold 3 10", "s3 gold 2 10"] {
            purchases.validate_subscription(ann, Shop::Apple, receipt(text), true).await.expect(world.name);
        }
        for limit in [1, 2, 3, 100] {
            let (mut found, mut cursor) = (String::new(), String::new());
            loop {
                let page = purchases.purchases(ann, limit, &cursor).await.expect(world.name);
                found.extend(page.entries.iter().map(|one| one.bought.transaction_id.as_str()));
                cursor = page.cursor;
                if cursor.is_empty() {
                    break;
                }
            }
            assert_eq!(found, "dccba", "{}, {limit} at a time", world.name);
            loop {
                let page = purchases.subscriptions(ann, limit, &cursor).await.expect(world.name);
                found.extend(page.entries.iter().map(|one| one.subscribed.original_transaction_id.as_str()));
                cursor = page.cursor;
                if cursor.is_empty() {
                    break;
                }
            }
            assert_eq!(found, "dccbas2s3s1", "{}, {limit} at a time", world.name);
        }
        for (limit, cursor) in [(0, ""), (-1, ""), (1_001, ""), (10, "x"), (10, "e30")] {
            assert_eq!(refusal(purchases.purchases(ann, limit, cursor).await).0, GrpcCode::InvalidArgument);
            assert_eq!(refusal(purchases.subscriptions(ann, limit, cursor).await).0, GrpcCode::InvalidArgument);
        }
    }
}

#[tokio::test]
async fn a_renewed_subscription_is_brought_up_to_date_and_stays_with_its_user() {
    for world in worlds().await {
        let (purchases, ann, ben) = (purchases(&world), world.user().await, world.user().await);
        let later = START_MS + 100;
        let subscribe =
            async |user, text: String| purchases.validate_subscription(user, Shop::Apple, receipt(&text), true).await;
        assert!(!subscribe(ann, format!("s1 gems 1 {START_MS}")).await.expect(world.name).is_active);
        world.clock.advance_ms(50);
        let renewed = subscribe(ann, format!("s1 gems {START_MS} {later}")).await.expect(world.name);
        let times = renewed.times.expect("it is kept");
        assert_eq!((renewed.is_active, times.created_at, times.updated_at), (true, START_MS, START_MS + 50));
        assert_eq!(refusal(subscribe(ben, format!("s1 gems 1 {later}")).await).0, GrpcCode::FailedPrecondition);
        subscribe(ann, "s0 gems 1 2".to_owned()).await.expect(world.name);
        let found = purchases.subscription(ann, "gems").await.expect(world.name);
        assert_eq!(found, renewed, "of several, the one that ends last");
        assert_eq!(refusal(purchases.subscription(ben, "gems").await).0, GrpcCode::NotFound);
        assert_eq!(refusal(purchases.subscription(ann, "").await).0, GrpcCode::InvalidArgument);
        assert_eq!(refusal(purchases.subscription(ann, "a\0").await).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_send_the_same_receipt_at_once_one_account_gets_it() {
    for world in worlds().await {
        let mut users = Vec::new();
        for _ in 0..4 {
            users.push(world.user().await);
        }
        let purchases = purchases(&world);
        let mut senders = JoinSet::new();
        for number in 0..40_usize {
            let (purchases, user) = (purchases.clone(), users[number % 4]);
            let text = if number % 2 == 0 { "a 1, b 2, c 3" } else { "c 3, b 2, a 1" };
            senders.spawn(async move { purchases.validate(user, Shop::Apple, receipt(text), true).await });
        }
        let outcomes = senders.join_all().await;
        let found: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
        let refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert_eq!(found.len(), 10, "{}: all of one account, none of the others", world.name);
        assert!(
            refused.clone().all(|refusal| refusal.code == GrpcCode::FailedPrecondition),
            "{:?}",
            refused.collect::<Vec<_>>()
        );
        let new = found.iter().flat_map(|one| one.iter()).filter(|one| !one.seen_before).count();
        assert_eq!(new, 3, "{}: each is new once", world.name);
    }
}
