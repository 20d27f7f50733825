// A pvAccessCPP server, which numbers types and reports overruns, for record.py:
//
//   g++ -std=c++11 -D_GLIBCXX_USE_CXX11_ABI=0 -I$SITE/epicscorelibs/include pvaccesscpp.cpp \
//     $SITE/epicscorelibs/lib/lib{pvAccess,pvData,Com}.so.7.* -Wl,-rpath,$SITE/epicscorelibs/lib
//
// where SITE is the site-packages of the environment that hack/venv.sh epics makes.
#include <iostream>
#include <pv/bitSet.h>
#include <pv/pvData.h>
#include <pv/serverContext.h>
#include <pv/standardField.h>
#include <pva/server.h>
#include <pva/sharedstate.h>

using namespace epics::pvData;
using epics::pvAccess::ServerContext;

static FieldBuilderPtr with_alarm_and_time(FieldBuilderPtr b) {
  return b->add("alarm", getStandardField()->alarm())->add("timeStamp", getStandardField()->timeStamp());
}

static PVStructurePtr number() {
  auto b = getFieldCreate()->createFieldBuilder()->setId("epics:nt/NTScalar:1.0")->add("value", pvDouble);
  auto v = with_alarm_and_time(b)->add("display", getStandardField()->display())->createStructure()->build();
  v->getSubFieldT<PVDouble>("value")->put(1.5);
  v->getSubFieldT<PVString>("alarm.message")->put("HIHI");
  return v;
}

static PVStructurePtr choice() {
  auto b = getFieldCreate()->createFieldBuilder()->setId("epics:nt/NTEnum:1.0")->add("value", getStandardField()->enumerated());
  auto v = with_alarm_and_time(b)->createStructure()->build();
  shared_vector<std::string> names(2);
  names[0] = "Off", names[1] = "On";
  v->getSubFieldT<PVStringArray>("value.choices")->replace(freeze(names));
  v->getSubFieldT<PVInt>("value.index")->put(1);
  return v;
}

static PVStructurePtr array() {
  auto b = getFieldCreate()->createFieldBuilder()->setId("epics:nt/NTScalarArray:1.0")->addArray("value", pvInt);
  auto v = with_alarm_and_time(b)->createStructure()->build();
  shared_vector<int32> list(300);
  for (int i = 0; i < 300; i++) list[i] = i;
  v->getSubFieldT<PVIntArray>("value")->replace(freeze(list));
  return v;
}

static PVStructurePtr table() {
  auto b = getFieldCreate()->createFieldBuilder()->setId("epics:nt/NTTable:1.0")->addArray("labels", pvString);
  return with_alarm_and_time(b->addNestedStructure("value")->addArray("x", pvDouble)->addArray("on", pvBoolean)->endNested())->createStructure()->build();
}

static PVStructurePtr image() {
  auto b = getFieldCreate()->createFieldBuilder()->setId("epics:nt/NTNDArray:1.0");
  auto v = b->addNestedUnion("value")->addArray("ubyteValue", pvUByte)->addArray("ushortValue", pvUShort)->endNested()
    ->add("dataTimeStamp", getStandardField()->timeStamp())->add("timeStamp", getStandardField()->timeStamp())
    ->addNestedStructureArray("attribute")->setId("epics:nt/NTAttribute:1.0")->add("name", pvString)->add("value", getFieldCreate()->createVariantUnion())->endNested()
    ->createStructure()->build();
  shared_vector<uint16> pixels(3, 60000);
  v->getSubFieldT<PVUnion>("value")->select<PVUShortArray>("ushortValue")->replace(freeze(pixels));
  auto attributes = v->getSubFieldT<PVStructureArray>("attribute");
  PVStructureArray::svector list(2);
  list[0] = attributes->getStructureArray()->getStructure()->build();
  list[0]->getSubFieldT<PVString>("name")->put("Gain");
  auto gain = getPVDataCreate()->createPVScalar<PVInt>();
  gain->put(7);
  list[0]->getSubFieldT<PVUnion>("value")->set(gain);
  attributes->replace(freeze(list));
  return v;
}

static PVStructurePtr every() {
  auto b = getFieldCreate()->createFieldBuilder()->setId("all");
  for (int t = pvBoolean; t <= pvString; t++) {
    std::string name(ScalarTypeFunc::name(ScalarType(t)));
    b->add(name, ScalarType(t))->addArray(name + "s", ScalarType(t));
  }
  return b->createStructure()->build();
}

static PVStructurePtr nested() {
  auto b = getFieldCreate()->createFieldBuilder()->setId("nested");
  auto v = b->add("bounded", getFieldCreate()->createVariantUnion())->add("one", getStandardField()->timeStamp())->add("two", getStandardField()->timeStamp())
    ->add("any", getFieldCreate()->createVariantUnion())->createStructure()->build();
  v->getSubFieldT<PVInt>("two.nanoseconds")->put(5);
  v->getSubFieldT<PVUnion>("any")->set(getStandardField()->timeStamp()->build());
  return v;
}

int main() {
  pvas::StaticProvider provider("static");
  PVStructurePtr values[] = {number(), choice(), array(), table(), image(), every(), nested()};
  const char *names[] = {"scalar", "enum", "array", "table", "image", "every", "nested"};
  pvas::SharedPV::shared_pointer pvs[7];
  for (int i = 0; i < 7; i++) {
    pvs[i] = pvas::SharedPV::buildReadOnly();
    pvs[i]->open(*values[i]);
    provider.add(names[i], pvs[i]);
  }
  auto server = ServerContext::create(ServerContext::Config().provider(provider.provider()));
  std::string line;
  std::getline(std::cin, line);
  auto value = values[0]->getSubFieldT<PVDouble>("value");
  BitSet changed;
  changed.set(value->getFieldOffset());
  for (double v = -100; v <= 4.5; v += 0.5) { // faster than they are sent
    value->put(v);
    pvs[0]->post(*values[0], changed);
  }
  std::getline(std::cin, line);
}
