// A PVXS server that sends big-endian, for record.py:
//
//   g++ -std=c++11 -D_GLIBCXX_USE_CXX11_ABI=0 -I$SITE/pvxslibs/include -I$SITE/epicscorelibs/include pvxs_big.cpp \
//     $SITE/pvxslibs/lib/libpvxs.so.1.5 $SITE/epicscorelibs/lib/libCom.so.7.* -Wl,-rpath,$SITE/pvxslibs/lib:$SITE/epicscorelibs/lib
//
// where SITE is the site-packages of the environment that hack/venv.sh epics makes.
#define PVXS_ENABLE_EXPERT_API // overrideSendBE
#include <iostream>
#include <pvxs/nt.h>
#include <pvxs/server.h>
#include <pvxs/sharedpv.h>

using namespace pvxs;
using namespace pvxs::members;

template <typename T> static shared_array<const void> array(std::initializer_list<T> list) {
  shared_array<T> a(list.begin(), list.end());
  return a.freeze().template castTo<const void>();
}

static Value stamped(Value v, int second = 0) {
  v["timeStamp.secondsPastEpoch"] = 1700000000 + second;
  v["timeStamp.nanoseconds"] = 250000000;
  return v;
}

static Value every() {
  auto v = TypeDef(TypeCode::Struct, "all", {
    Bool("bo"), Int8("b"), Int16("h"), Int32("i"), Int64("l"), UInt8("B"), UInt16("H"), UInt32("I"), UInt64("L"), Float32("f"), Float64("d"), String("s"),
    BoolA("abo"), Int8A("ab"), Int16A("ah"), Int32A("ai"), Int64A("al"), UInt8A("aB"), UInt16A("aH"), UInt32A("aI"), UInt64A("aL"), Float32A("af"), Float64A("ad"), StringA("as"),
  }).create();
  v["bo"] = true; v["b"] = -5; v["h"] = -300; v["i"] = -70000; v["l"] = int64_t(-1) << 40; v["B"] = 250; v["H"] = 60000; v["I"] = 4000000000u;
  v["L"] = uint64_t(1) << 63; v["f"] = 0.5; v["d"] = -0.1; v["s"] = std::string("text");
  v["abo"] = array<bool>({true, false}); v["ab"] = array<int8_t>({-5, 1}); v["ah"] = array<int16_t>({-300, 1}); v["ai"] = array<int32_t>({-70000, 1});
  v["al"] = array<int64_t>({int64_t(-1) << 40, 1}); v["aB"] = array<uint8_t>({250, 1}); v["aH"] = array<uint16_t>({60000, 1}); v["aI"] = array<uint32_t>({4000000000u, 1});
  v["aL"] = array<uint64_t>({uint64_t(1) << 63, 1}); v["af"] = array<float>({0.5f, 1}); v["ad"] = array<double>({-0.1, 1}); v["as"] = array<std::string>({"", std::string(300, 'y')});
  return v;
}

static Value nested() {
  auto v = TypeDef(TypeCode::Struct, "nested", {
    Struct("empty", {}), StructA("points", "point", {Int32("x"), String("name")}), Union("choice", {Float64("number"), String("text")}),
    UnionA("choices", {Float64("number"), Struct("point", {Int32("x")})}), Any("any"), Any("nothing"), AnyA("anys"), Struct("deep", {Struct("er", {Int16("est")})}),
  }).create();
  shared_array<Value> points(3);
  points[0] = v["points"].allocMember().update("x", 1).update("name", "a");
  points[2] = v["points"].allocMember().update("x", -2);
  v["points"] = points.freeze();
  v["choice->text"] = "chosen";
  shared_array<Value> choices(2);
  choices[0] = v["choices"].allocMember();
  choices[0]["->number"] = 2.5;
  v["choices"] = choices.freeze();
  auto any = TypeDef(TypeCode::Int32).create();
  any = 70000;
  v["any"].from(any);
  shared_array<Value> anys(2);
  anys[0] = TypeDef(TypeCode::Float64).create();
  anys[0] = 1.5;
  v["anys"] = anys.freeze();
  v["deep.er.est"] = -7;
  return v;
}

static Value image() {
  auto v = nt::NTNDArray{}.create();
  v["value->ushortValue"] = shared_array<const uint16_t>({0, 1, 60000});
  shared_array<Value> dims(1);
  dims[0] = v["dimension"].allocMember().update("size", 3);
  v["dimension"] = dims.freeze();
  return stamped(v);
}

int main() {
  auto config = server::Config::fromEnv();
  auto server = config.overrideSendBE(true).build();
  auto number = nt::NTScalar{TypeCode::Float64, true, true, true}.create();
  auto numbers = nt::NTScalar{TypeCode::Int32A}.create();
  shared_array<int32_t> list(300);
  for (int i = 0; i < 300; i++) list[i] = i - 100;
  auto choice = nt::NTEnum{}.create();
  choice["value.index"] = 1;
  choice["value.choices"] = array<std::string>({"Off", "On"});
  auto table = nt::NTTable{}.add_column(TypeCode::String, "name").add_column(TypeCode::Float64, "x").create();
  table["value.name"] = array<std::string>({"Q1", "Q2"});
  table["value.x"] = array<double>({1.25, -2});
  server::SharedPV pvs[7];
  Value values[] = {stamped(number.cloneEmpty().update("value", 1.5).update("alarm.message", "HIHI").update("display.units", "mA")), stamped(choice),
                    stamped(numbers.cloneEmpty().update("value", list.freeze())), stamped(table), image(), every(), nested()};
  const char *names[] = {"scalar", "enum", "array", "table", "image", "every", "nested"};
  for (int i = 0; i < 7; i++) {
    pvs[i] = server::SharedPV::buildReadonly();
    pvs[i].open(values[i]);
    server.addPV(names[i], pvs[i]);
  }
  server.start();
  std::string line;
  std::getline(std::cin, line);
  for (int k = 0; k < 3; k++) pvs[0].post(stamped(number.cloneEmpty().update("value", 2.5 + k), k));
  std::getline(std::cin, line);
  server.stop();
}
